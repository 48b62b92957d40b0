package litmus

import (
	"fmt"
	"slices"
	"strings"
)

// jump is a branch whose label is still a name.
type jump struct {
	thread, at int
	label      string
}

// cell reads the labels and the instruction of a thread in a row.
func (p *parser) cell(thread int, s section, labels *map[string]int) ([]jump, error) {
	t := &p.test.Threads[thread]
	for {
		label, rest, ok := strings.Cut(s.text, ":")
		if label = strings.TrimSpace(label); !ok || !identifier.MatchString(label) {
			break
		}
		if _, twice := (*labels)[label]; twice {
			return nil, fmt.Errorf("line %d: label %s stands twice in %s", s.line, label, t.Name)
		}
		if *labels == nil {
			*labels = map[string]int{}
		}
		(*labels)[label] = len(t.Code)
		s.text = strings.TrimSpace(rest)
	}
	if s.text == "" {
		return nil, nil
	}
	w := &words{parser: p, thread: thread, line: s.line}
	head := strings.Fields(s.text)[0]
	w.names = strings.Split(head, ".")
	if operands := strings.TrimSpace(s.text[len(head):]); operands != "" {
		for _, o := range strings.Split(operands, ",") {
			w.operands = append(w.operands, strings.Trim(strings.TrimSpace(o), "[]"))
		}
	}
	in, label, err := w.instruction()
	if err != nil {
		if _, ok := err.(*Unsupported); ok {
			return nil, err
		}
		return nil, fmt.Errorf("line %d: %s: %w", s.line, s.text, err)
	}
	in.Line, in.Text = s.line, strings.Join(strings.Fields(s.text), " ")
	t.Code = append(t.Code, in)
	if label != "" {
		return []jump{{thread, len(t.Code) - 1, label}}, nil
	}
	return nil, nil
}

// resolve gives the branches their targets.
func resolve(t *Test, labels []map[string]int, jumps []jump) error {
	for _, j := range jumps {
		in := &t.Threads[j.thread].Code[j.at]
		target, ok := labels[j.thread][j.label]
		if !ok {
			return fmt.Errorf("line %d: %s has no label %s", in.Line, t.Threads[j.thread].Name, j.label)
		}
		in.Target = target
	}
	return nil
}

// words is an instruction that is being read.
type words struct {
	parser   *parser
	thread   int
	line     int
	names    []string // the opcode and its qualifiers
	operands []string
}

// take removes a qualifier and reports whether it was there.
func (w *words) take(name string) bool {
	at := slices.Index(w.names[1:], name)
	if at >= 0 {
		w.names = slices.Delete(w.names, 1+at, 2+at)
	}
	return at >= 0
}

// choose removes the qualifier that is one of several names, and returns its value.
func choose[T any](w *words, values map[string]T) (T, string) {
	for i, name := range w.names[1:] {
		if v, ok := values[name]; ok {
			w.names = slices.Delete(w.names, 1+i, 2+i)
			return v, name
		}
	}
	var none T
	return none, ""
}

// finished is an error if qualifiers are left, or if there are not so many operands.
func (w *words) finished(operands ...int) error {
	if len(w.names) > 1 {
		return fmt.Errorf("unknown qualifier .%s", w.names[1])
	}
	if !slices.Contains(operands, len(w.operands)) {
		return fmt.Errorf("%d operands, and %d are needed", len(w.operands), operands[0])
	}
	return nil
}

// destination is the register that an operand names.
func (w *words) destination(name string) (int, error) {
	if !registerName.MatchString(name) {
		return 0, fmt.Errorf("%q is no register; registers are called r0, r1 and so on", name)
	}
	return w.parser.register(w.thread, name), nil
}

// location is the location that an operand names. One without an initial value has 0.
func (w *words) location(name string) (int, error) {
	if !identifier.MatchString(name) || registerName.MatchString(name) {
		return 0, fmt.Errorf("%q is no location", name)
	}
	return w.parser.location(w.line, name)
}

// values are operands that are registers or numbers.
func (w *words) values(names []string) ([]Operand, error) {
	var all []Operand
	for _, name := range names {
		if registerName.MatchString(name) {
			all = append(all, Operand{Register: w.parser.register(w.thread, name)})
			continue
		}
		n, err := number(name)
		if err != nil {
			return nil, fmt.Errorf("%q is neither a register nor a number", name)
		}
		all = append(all, Operand{Register: -1, Value: n})
	}
	return all, nil
}
