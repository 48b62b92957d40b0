package workload

import (
	"fmt"
	"strconv"
	"strings"

	"gpurun/kernels/collective"
)

// Injection is a failure that is injected to show that gpurun finds it.
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
	const forms = "write corrupt:rank=R,byte=B, kill:rank=R or hang:rank=R"
	for _, pair := range strings.Split(rest, ",") {
		key, value, _ := strings.Cut(pair, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err != nil || n < 0:
			return in, fmt.Errorf("injection %q: %q is not KEY=NUMBER: %s", text, pair, forms)
		case key == "rank" && in.Rank < 0 && n < 1<<31:
			in.Rank = int(n)
		case key == "byte" && in.Byte < 0 && in.Kind == Corrupt:
			in.Byte = n
		default:
			return in, fmt.Errorf("injection %q: %s does not take %q, or takes it only once", text, kind, key)
		}
	}
	if in.Rank < 0 || (in.Kind == Corrupt && in.Byte < 0) {
		return in, fmt.Errorf("injection %q is incomplete: %s", text, forms)
	}
	return in, nil
}

// checkInjections refuses failures that would never happen: a run that passes with one of
// them would prove nothing.
func (j Job) checkInjections(s collective.Shape, world int, requests []request) error {
	for _, in := range j.Inject {
		var longest int64 // output, in bytes
		for _, q := range requests {
			longest = max(longest, Case{Shape: s, world: world, Call: q.call}.OutputBytes(in.Rank))
		}
		switch {
		case in.Rank >= world:
			return usagef("cannot inject a failure into rank %d: the ranks are 0 to %d", in.Rank, world-1)
		case in.Kind == Corrupt && !j.Verify:
			return usagef("corruption is injected to see it found, and verification is off")
		case in.Kind == Corrupt && in.Byte >= longest:
			return usagef("cannot corrupt byte %d of rank %d, whose longest output has %d bytes, from 0 on", in.Byte, in.Rank,
				longest)
		}
	}
	return nil
}
