// Package checkreport writes what gpurun check has found: as text, JSON, SARIF, JUnit XML, annotations of GitHub, and
// as a picture.
//
// The files:
//
//	report     what was found; its JSON is documented in docs/check.md
//	text*      for people: a row for each algorithm, and the findings by their causes
//	sarif      SARIF 2.1.0, for code scanning
//	junit      JUnit XML, a case for each algorithm and number of ranks
//	github     annotations of GitHub Actions
//	timeline   the last events around a finding, as SVG
package checkreport

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gpurun/cmd/gpurun/suggest"
)

// Schema names the form of the JSON document. It changes when a field changes its meaning or goes away.
const Schema = "gpurun-check/1"

// The verdicts, the worst one first.
const (
	Findings   = "findings"
	Deadlock   = "deadlock"
	Incomplete = "incomplete"
	Clean      = "clean"
)

// Report is what a check has found.
type Report struct {
	Schema   string   `json:"schema"`
	Version  string   `json:"version"`
	Command  []string `json:"command"`
	Verdict  string   `json:"verdict"` // findings, deadlock, incomplete or clean
	ExitCode int      `json:"exit_code"`
	Seed     uint64   `json:"seed"`
	Cases    []Case   `json:"cases"`
	// Findings has each once, whatever cases have it. Those of Suppressed are not among them.
	Findings   []Finding    `json:"findings"` // a cause, its pairs, its consequences, and so on
	Suppressed []Suppressed `json:"suppressed"`
	// UnusedSuppressions are those that matched nothing.
	UnusedSuppressions []string `json:"unused_suppressions"`
	// Incomplete says what was not checked.
	Incomplete []string `json:"incomplete"`
}

// Case is an algorithm among so many ranks.
type Case struct {
	Collective string  `json:"collective"`
	Algorithm  string  `json:"algorithm"`
	Ranks      int     `json:"ranks"`
	DType      string  `json:"dtype"`
	Op         string  `json:"op"`
	Sizes      []int64 `json:"sizes"` // bytes of a part
	// Matrices are M x N x K of products, which have no sizes.
	Matrices []string `json:"matrices,omitempty"`
	Launches int      `json:"launches"`
	Arch     string   `json:"compute_capability"` // of the devices
	Product  bool     `json:"-"`                  // the name tells the compute capability
	// Variants are the ways of the calls: out of place, in place, early launch (PDL), graph, and mixed with other
	// algorithms.
	Variants  []string `json:"variants"`
	Schedules int      `json:"schedules"`
	// Blocks are those of all grids of all schedules, and BlocksEnded of them have run to their end.
	Blocks      int `json:"blocks"`
	BlocksEnded int `json:"blocks_ended"`
	// Complete: the schedules were all that differ in the order of strong accesses, by the strategy exhaustive.
	Complete bool `json:"complete"`
	// Settled: fewer schedules ran than planned, since the last ones showed nothing in a new order.
	Settled bool `json:"settled"`
	// Behaviors counts the different orders of strong accesses that were seen.
	Behaviors int `json:"behaviors"`
	// Pairs of instructions accessed the same bytes, one of them writing, and BothOrders of them in both orders.
	Pairs      int      `json:"pairs"`
	BothOrders int      `json:"pairs_in_both_orders"`
	Findings   []int    `json:"findings"`   // places in the report's findings, from 0 on
	Incomplete []string `json:"incomplete"` // what was not checked
	Seconds    float64  `json:"-"`
}

// Name is the case in one line: "allreduce oneshot, 2 ranks".
func (c Case) Name() string {
	name := c.Collective + " " + c.Algorithm
	if c.DType != "" {
		name += " " + c.DType
	}
	if c.Op != "" && c.Op != "none" {
		name += " " + c.Op
	}
	if c.Product {
		name += " on " + c.Arch
	}
	return fmt.Sprintf("%s, %d ranks", name, c.Ranks)
}

// Finding is a mistake.
type Finding struct {
	Kind   string `json:"kind"`
	Cause  string `json:"cause"`
	Origin string `json:"origin,omitempty"` // where a wrong result comes from
	Where  string `json:"where"`
	Bytes  uint64 `json:"bytes"`
	Sides  []Side `json:"sides"` // in the order in which they were performed
	Flag   []Side `json:"flag"`  // a release and an acquire, or nothing
	Advice string `json:"advice"`
	Note   bool   `json:"note"` // current GPUs do not show it, or a leak
	Count  int    `json:"count"`
	// Schedules is how many show it.
	Schedules int    `json:"schedules"`
	Case      string `json:"case"` // the first that has it
	Seed      uint64 `json:"seed,string"`
	Schedule  int    `json:"schedule"` // of that seed, from 1 on: the first of the case that shows it
	// Group is the place in the report's findings of the one that explains this one, or its own. Role is what this one is
	// in its group: cause, pair (other lines for the same cause) or consequence. Same is what pairs have in common.
	Group int    `json:"group"`
	Role  string `json:"role"`
	Same  string `json:"same"`
	// Replay is the file with the schedule, or "".
	Replay string `json:"replay"`
	// Decisions is how many the schedule of Replay has, and Shrunk how many it had before; 0: it was not shrunk.
	Decisions int `json:"decisions"`
	Shrunk    int `json:"shrunk_from"`
	// Events are the last ones before the finding, in their order. The first causes have them, where a file or a page is
	// written that can show them.
	Events []Event `json:"events,omitempty"`
	// Text is the finding for people, in lines.
	Text []string `json:"text"`
}

// The roles of findings in their group.
const (
	Cause       = "cause"
	Pair        = "pair"
	Consequence = "consequence"
)

// causes are the findings that others follow from.
func (r Report) causes() (all []Finding) {
	for _, f := range r.Findings {
		if f.Role == Cause {
			all = append(all, f)
		}
	}
	return all
}

// causesOf counts the causes of findings, given by their places: mistakes, and those that explain notes alone. A report
// that was read from a file may have others.
func (r Report) causesOf(places []int) (n causes) {
	isMistake := map[int]bool{} // by group
	for _, at := range places {
		if 0 <= at && at < len(r.Findings) {
			f := r.Findings[at]
			isMistake[f.Group] = isMistake[f.Group] || !f.Note
		}
	}
	for _, mistake := range isMistake {
		if mistake {
			n.findings++
		} else {
			n.notes++
		}
	}
	return n
}

// causes are numbers of groups of findings. A note does not fail the check.
type causes struct{ findings, notes int }

// String reads "2 findings, 1 note"; empty: there are none.
func (n causes) String() string {
	var words []string
	if n.findings > 0 {
		words = append(words, suggest.Count(n.findings, "finding", "findings"))
	}
	if n.notes > 0 {
		words = append(words, suggest.Count(n.notes, "note", "notes"))
	}
	return strings.Join(words, ", ")
}

// all counts the causes of all findings.
func (r Report) all() causes {
	places := make([]int, len(r.Findings))
	for i := range places {
		places[i] = i
	}
	return r.causesOf(places)
}

// Rule names what a finding is an example of: its kind and cause, as a word.
func (f Finding) Rule() string {
	cause := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r == ' ' || r == '-':
			return '-'
		}
		return -1
	}, strings.ToLower(f.Cause))
	return f.Kind + "/" + cause
}

// Message is the finding in one line.
func (f Finding) Message() string {
	if len(f.Text) == 0 {
		return f.Kind
	}
	head := strings.Join(strings.Fields(f.Text[0]), " ")
	if f.Advice == "" {
		return head
	}
	return head + "; " + f.Advice
}

// Side is an access, or a place where something waits.
type Side struct {
	Rank        int    `json:"rank"`
	Kernel      string `json:"kernel"`
	Block       int    `json:"block"`
	Warp        int    `json:"warp"`
	Command     string `json:"command"` // of a stream or a host, where there is no kernel
	Action      string `json:"action"`  // reads, writes, updates or fences
	Instruction string `json:"instruction"`
	Module      string `json:"module"`
	Line        int    `json:"line"`                 // in the module's PTX
	Source      string `json:"source"`               // FILE:LINE of what the PTX was made of, or ""
	InlinedAt   string `json:"inlined_at,omitempty"` // FILE:LINE of the call by which that was inlined
}

// Who names the side's actor.
func (s Side) Who() string {
	if s.Kernel == "" {
		return strings.TrimSpace(fmt.Sprintf("rank %d %s", s.Rank, s.Command))
	}
	return fmt.Sprintf("rank %d block %d warp %d", s.Rank, s.Block, s.Warp)
}

// sourceLines is the line of the source, with that of a call by which it was inlined.
func (s Side) sourceLines() string {
	if s.InlinedAt == "" {
		return s.Source
	}
	return s.Source + ", inlined at " + s.InlinedAt
}

// Place is the file and the line of a side: of the source, or else of the PTX. The line is 0 where there is none.
func (s Side) Place() (file string, line int) {
	if at := strings.LastIndexByte(s.Source, ':'); at > 0 {
		if _, err := fmt.Sscanf(s.Source[at+1:], "%d", &line); err == nil {
			return s.Source[:at], line
		}
	}
	return s.Module, s.Line
}

// Suppressed is a finding that the file of suppressions accepts.
type Suppressed struct {
	Finding
	Reason string `json:"reason"`
}

// WriteJSON writes the report as JSON. Lists are never null.
func WriteJSON(w io.Writer, r Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r.withLists())
}

func (r Report) withLists() Report {
	r.Command, r.UnusedSuppressions, r.Incomplete = some(r.Command), some(r.UnusedSuppressions), some(r.Incomplete)
	r.Cases, r.Findings, r.Suppressed = some(r.Cases), some(r.Findings), some(r.Suppressed)
	for i := range r.Cases {
		c := &r.Cases[i]
		c.Sizes, c.Findings, c.Incomplete = some(c.Sizes), some(c.Findings), some(c.Incomplete)
		c.Variants = some(c.Variants)
	}
	for i := range r.Findings {
		r.Findings[i].Sides, r.Findings[i].Flag = some(r.Findings[i].Sides), some(r.Findings[i].Flag)
	}
	for i := range r.Suppressed {
		r.Suppressed[i].Sides, r.Suppressed[i].Flag = some(r.Suppressed[i].Sides), some(r.Suppressed[i].Flag)
	}
	return r
}

// some is a list that is not nil.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
