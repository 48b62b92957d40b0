package check

import (
	"fmt"
	"strings"
)

// notes are findings about single accesses, each once for its instruction and cause.
type notes struct {
	findings []Finding
	known    map[noteKey]int // index in findings
}

type noteKey struct {
	kind   Kind
	cause  string
	module string
	line   int
	text   string
}

// seen counts a finding of an instruction that is known, and reports whether it is.
func (n *notes) seen(kind Kind, cause string, at *Access) bool {
	i, ok := n.known[noteKey{kind, cause, at.Module, at.Line, at.Text}]
	if ok {
		n.findings[i].Count++
	}
	return ok
}

func (n *notes) add(f Finding) {
	if n.known == nil {
		n.known = map[noteKey]int{}
	}
	at := f.Sides[0]
	n.known[noteKey{f.Kind, f.Cause, at.Module, at.Line, at.Text}] = len(n.findings)
	f.Count = 1
	n.findings = append(n.findings, f)
}

// note adds a finding about an access of a lane, unless it is known.
func (r *run) note(f Finding, lane int, addr uint64) {
	f.Where += fmt.Sprintf(" (lane %d, address %#x)", lane, addr)
	if !r.noted.seen(f.Kind, f.Cause, &f.Sides[0]) {
		r.noted.add(f)
	}
}

// placesText is a finding about one or two accesses as a block of lines.
func (f *Finding) placesText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s, %d bytes of %s\n", strings.ToUpper(string(f.Kind)), f.Cause, f.Bytes, f.Where)
	for i, s := range f.Sides {
		fmt.Fprintf(&b, "  %-7s %v\n", [...]string{"first", "then"}[min(i, 1)], s)
	}
	fmt.Fprintf(&b, "  %s\n", f.Advice)
	return b.String()
}
