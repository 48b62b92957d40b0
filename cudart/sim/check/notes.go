package check

import "fmt"

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
	at := f.Sides[len(f.Sides)-1]
	n.known[noteKey{f.Kind, f.Cause, at.Module, at.Line, at.Text}] = len(n.findings)
	f.Count = 1
	n.findings = append(n.findings, f)
}

// note adds a finding about an access of a lane, unless it is known.
func (r *run) note(f Finding, lane int, addr uint64) {
	f.Where += fmt.Sprintf(" (lane %d, address %#x)", lane, addr)
	if !r.noted.seen(f.Kind, f.Cause, &f.Sides[len(f.Sides)-1]) {
		r.noted.add(f)
	}
}
