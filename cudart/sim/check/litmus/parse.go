package litmus

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// parser reads one test.
type parser struct {
	test      *Test
	locations map[string]int
	registers []map[string]int // of each thread, by name
	early     []early          // initial values of registers, which stand in front of the threads
	names     map[string]int   // threads
}

// early is the initial value of a register.
type early struct {
	line             int
	thread, register string
	value            int64
}

// section is a part of a test's text, and the line on which it begins.
type section struct {
	text string
	line int
}

var (
	comment      = regexp.MustCompile(`(?s)\(\*.*?\*\)|//[^\n]*`)
	quoted       = regexp.MustCompile(`(?s)"[^"]*"`)
	notNewline   = regexp.MustCompile(`[^\n]`)
	conditions   = regexp.MustCompile(`^(~\s*exists|not\s+exists|exists|forall|filter|locations|final)\b`)
	registerName = regexp.MustCompile(`^r\d+$`)
	identifier   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Parse reads a test in the format that herd7 and dartagnan use for PTX.
func Parse(text string) (*Test, error) {
	blank := func(s string) string { return notNewline.ReplaceAllString(s, " ") }
	text = comment.ReplaceAllStringFunc(text, blank)
	head, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(head)
	if len(words) == 0 || !strings.EqualFold(words[0], "PTX") {
		return nil, fmt.Errorf("line 1: a test begins with PTX and its name, not with %q", head)
	}
	name := strings.TrimSpace(strings.TrimSpace(head)[len("PTX"):])
	rest := quoted.ReplaceAllStringFunc(text, blank)
	open := strings.IndexByte(rest, '{')
	if open < 0 {
		return nil, fmt.Errorf("line 1: the test has no initial state; write {} in front of the threads")
	}
	size := strings.IndexByte(rest[open:], '}')
	if size < 0 {
		return nil, fmt.Errorf("line %d: the initial state has no closing brace", lineAt(rest, open))
	}
	p := &parser{test: &Test{Name: name}, locations: map[string]int{}, names: map[string]int{}}
	if err := p.initial(section{rest[open+1 : open+size], lineAt(rest, open)}); err != nil {
		return nil, err
	}
	return p.test, p.program(section{rest[open+size+1:], lineAt(rest, open+size)})
}

func lineAt(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

// split cuts a section at each separator.
func (s section) split(separator string) []section {
	var all []section
	line := s.line
	for _, part := range strings.Split(s.text, separator) {
		blank := len(part) - len(strings.TrimLeft(part, " \t\r\n"))
		all = append(all, section{strings.TrimSpace(part), line + strings.Count(part[:blank], "\n")})
		line += strings.Count(part, "\n")
	}
	return all
}

// program reads the threads, their instructions and the conditions.
func (p *parser) program(s section) error {
	rows := s.split(";")
	if len(rows) > 0 && rows[0].text == "" { // a semicolon behind the brace
		rows = rows[1:]
	}
	if len(rows) == 0 {
		return fmt.Errorf("line %d: the test has no threads", s.line)
	}
	if err := p.threads(rows[0]); err != nil {
		return err
	}
	labels := make([]map[string]int, len(p.test.Threads))
	var jumps []jump
	for at, row := range rows[1:] {
		if row.text == "" {
			continue
		}
		if conditions.MatchString(row.text) {
			if err := resolve(p.test, labels, jumps); err != nil {
				return err
			}
			return p.conditions(rows[1+at:])
		}
		cells := row.split("|")
		if len(cells) != len(p.test.Threads) {
			return fmt.Errorf("line %d: %d columns for %d threads", row.line, len(cells), len(p.test.Threads))
		}
		for thread, cell := range cells {
			more, err := p.cell(thread, cell, &labels[thread])
			if err != nil {
				return err
			}
			jumps = append(jumps, more...)
		}
	}
	return resolve(p.test, labels, jumps)
}

var threadHead = regexp.MustCompile(`^P(\d+)\s*@\s*cta\s+(\d+)\s*,\s*gpu\s+(\d+)$`)

// threads reads the row of threads: P0@cta 0,gpu 0 | P1@cta 1,gpu 0.
func (p *parser) threads(row section) error {
	for i, cell := range row.split("|") {
		m := threadHead.FindStringSubmatch(cell.text)
		if m == nil {
			return fmt.Errorf("line %d: %q is no thread; write P%d@cta 0,gpu 0", cell.line, cell.text, i)
		}
		cta, err1 := strconv.Atoi(m[2])
		gpu, err2 := strconv.Atoi(m[3])
		if err1 != nil || err2 != nil {
			return fmt.Errorf("line %d: the place of thread %q is out of range", cell.line, cell.text)
		}
		if _, twice := p.names[m[1]]; twice {
			return fmt.Errorf("line %d: thread P%s is declared twice", cell.line, m[1])
		}
		p.names[m[1]] = i
		p.test.Threads = append(p.test.Threads, Thread{Name: "P" + m[1], CTA: cta, GPU: gpu})
		p.registers = append(p.registers, map[string]int{})
	}
	for _, e := range p.early {
		thread, ok := p.names[e.thread]
		if !ok {
			return fmt.Errorf("line %d: there is no thread P%s", e.line, e.thread)
		}
		at := p.register(thread, e.register)
		p.test.Threads[thread].Registers[at].Initial = e.value
	}
	return nil
}

// register is the index of a thread's register, which is made if it is new.
func (p *parser) register(thread int, name string) int {
	at, ok := p.registers[thread][name]
	if !ok {
		t := &p.test.Threads[thread]
		at = len(t.Registers)
		p.registers[thread][name] = at
		t.Registers = append(t.Registers, Register{Name: name})
	}
	return at
}
