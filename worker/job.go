// Package worker is the story of one rank: it joins the rendezvous, opens its
// device, shares memory with its peers, runs the job's collectives, verifies
// and times them, and reports.
package worker

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Job is what all ranks do together. The launcher makes it, every worker gets
// the same one as JSON. Names are canonical; sizes are in bytes.
type Job struct {
	Collective string   `json:"collective"`
	Algorithms []string `json:"algorithms"` // names, or "auto"
	DTypes     []string `json:"dtypes"`
	Ops        []string `json:"ops"`
	Sizes      []int64  `json:"sizes"`      // bytes of the input of each rank
	Cycles     int      `json:"cycles"`     // times the whole sweep runs
	Iterations int      `json:"iterations"` // timed calls per measurement
	Warmup     int      `json:"warmup"`     // calls before them
	// GraphReplays above zero captures the timed calls in a graph and replays
	// it as often, instead of launching each on the stream.
	GraphReplays int    `json:"graph_replays"`
	Verify       bool   `json:"verify"`
	Seed         uint64 `json:"seed"`
	// Timeout bounds every wait for another rank.
	Timeout time.Duration `json:"timeout"`
	Inject  []Injection   `json:"inject,omitempty"`
}

// Injection is a failure made on purpose, to see that gpurun notices.
type Injection struct {
	Kind InjectionKind `json:"kind"`
	Rank int           `json:"rank"`
	// Byte is the offset in the rank's result whose lowest bit is flipped;
	// Corrupt only.
	Byte int64 `json:"byte,omitempty"`
}

// InjectionKind says what fails.
type InjectionKind string

// The failures that can be injected.
const (
	Corrupt InjectionKind = "corrupt" // flip one bit of the first result that is long enough
	Kill    InjectionKind = "kill"    // die by SIGKILL after the first verified call
	Hang    InjectionKind = "hang"    // stop taking part after the first verified call
)

// ParseInjection reads KIND:rank=R[,byte=B], as in "corrupt:rank=1,byte=4097".
func ParseInjection(text string) (Injection, error) {
	kind, rest, _ := strings.Cut(text, ":")
	in := Injection{Kind: InjectionKind(kind), Rank: -1, Byte: -1}
	switch in.Kind {
	case Corrupt, Kill, Hang:
	default:
		return in, fmt.Errorf("injection %q: unknown kind %q; use corrupt, kill or hang", text, kind)
	}
	for _, pair := range strings.Split(rest, ",") {
		key, value, _ := strings.Cut(pair, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err != nil || n < 0:
			return in, fmt.Errorf("injection %q: %q is not KEY=NUMBER", text, pair)
		case key == "rank" && n < 1<<31:
			in.Rank = int(n)
		case key == "byte" && in.Kind == Corrupt:
			in.Byte = n
		default:
			return in, fmt.Errorf("injection %q: %s takes no %q", text, kind, key)
		}
	}
	if in.Rank < 0 || (in.Kind == Corrupt && in.Byte < 0) {
		return in, fmt.Errorf("injection %q is incomplete: write corrupt:rank=R,byte=B, kill:rank=R or hang:rank=R", text)
	}
	return in, nil
}
