package mutate

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart/sim/ptx"
)

// code is a kernel that mutants are made of.
type code struct {
	lines   []string // of the module
	body    []ptx.Inst
	regs    []ptx.Reg
	before  [][]int // the instructions that may come before each
	mutants []*Mutant
}

func read(module string, text []byte, entry string) (*code, error) {
	m, err := ptx.Parse(module, text)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(m.Entries, func(e *ptx.Entry) bool { return e.Name == entry })
	if at < 0 {
		return nil, fmt.Errorf("%s has no kernel %s", module, entry)
	}
	f, err := m.Read(&m.Entries[at].Function)
	if err != nil {
		return nil, err
	}
	c := &code{
		lines: strings.Split(string(text), "\n"), body: f.Body, regs: f.Regs, before: make([][]int, len(f.Body)+1),
	}
	for i := range c.body {
		for _, next := range c.successors(i) {
			c.before[next] = append(c.before[next], i)
		}
	}
	return c, nil
}

// name is how the text calls a register.
func (c *code) name(reg int) string { return c.regs[reg].Name }

// successors are the instructions that may follow one; len(c.body) is the end.
func (c *code) successors(i int) []int {
	in := &c.body[i]
	always := in.Guard.Reg < 0
	switch {
	case in.Op == "bra" && len(in.Args) == 1 && in.Args[0].Kind == ptx.Label:
		if target := in.Args[0].Target; always {
			return []int{target}
		} else {
			return []int{i + 1, target}
		}
	case in.Op == "brx":
		return in.Args[1].Table
	case always && (in.Op == "ret" || in.Op == "exit" || in.Op == "trap"):
		return nil
	}
	return []int{i + 1}
}

// has reports whether an instruction has a modifier.
func has(in *ptx.Inst, mods ...string) bool {
	return slices.ContainsFunc(mods, func(m string) bool { return slices.Contains(in.Mods, m) })
}

// opcode is the first word of an instruction, with all its modifiers.
func opcode(in *ptx.Inst) string { return strings.Join(append([]string{in.Op}, in.Mods...), ".") }

// with is the instruction with other modifiers; an empty one is left out.
func with(in *ptx.Inst, replace map[string]string) edit {
	words := []string{in.Op}
	for _, m := range in.Mods {
		if now, ok := replace[m]; ok {
			m = now
		}
		if m != "" {
			words = append(words, m)
		}
	}
	return edit{in, strings.Replace(in.Text, opcode(in), strings.Join(words, "."), 1) + ";"}
}

// nothing leaves an instruction out. Its line remains.
func nothing(in *ptx.Inst) edit { return edit{in, ""} }

// strong reports whether an access is, other than by being volatile, which fault records are.
func strong(in *ptx.Inst) bool { return has(in, "relaxed", "acquire", "release", "acq_rel") }

// memory reports whether an instruction accesses memory by ordinary loads, stores or atomic operations.
func memory(in *ptx.Inst) bool {
	return slices.Contains([]string{"ld", "st", "atom", "red", "multimem"}, in.Op) && !has(in, "param", "local", "const")
}
