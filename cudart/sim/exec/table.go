package exec

import (
	"slices"
	"strings"
	"sync"
)

//go:generate go test -run TestInstructionsPage -update .

// instruction is a section of chapter 9.7 of the PTX ISA, and what the simulator knows of it.
type instruction struct {
	section string
	name    string // as the section calls it: what is before the first dot is the opcode
	forms   string // modifiers and types that are known, or the reason why none is
	compile compileFunc
}

// compileFunc compiles the current instruction to an op. It refuses what it does not know.
type compileFunc func(c *compiler, o *op)

// chapters are the titles of the ISA's sections of instructions.
var chapters = [][2]string{
	{"9.7.1", "Integer arithmetic"},
	{"9.7.2", "Extended-precision integer arithmetic"},
	{"9.7.3", "Floating point"},
	{"9.7.4", "Half-precision floating point"},
	{"9.7.5", "Mixed-precision floating point"},
	{"9.7.6", "Comparison and selection"},
	{"9.7.7", "Half-precision comparison"},
	{"9.7.8", "Logic and shift"},
	{"9.7.9", "Data movement and conversion"},
	{"9.7.10", "Texture"},
	{"9.7.11", "Surface"},
	{"9.7.12", "Control flow"},
	{"9.7.13", "Parallel synchronization and communication"},
	{"9.7.14", "Warp-level matrix multiply-accumulate"},
	{"9.7.15", "Asynchronous warpgroup-level matrix multiply-accumulate"},
	{"9.7.16", "TensorCore 5th generation"},
	{"9.7.17", "Stack manipulation"},
	{"9.7.18", "Video"},
	{"9.7.19", "Miscellaneous"},
}

// instructions is the table of all instructions, in the order of the ISA.
func instructions() []instruction {
	return slices.Concat(integerInstructions(), floatInstructions(), logicInstructions(), dataInstructions(),
		controlInstructions(), videoInstructions(), miscellaneousInstructions())
}

// opcode is what the compiler looks up.
func (in instruction) opcode() string {
	opcode, _, _ := strings.Cut(in.name, ".")
	return opcode
}

// opcodes finds the row of each opcode: of several sections the first that is known.
var opcodes = sync.OnceValue(func() map[string]instruction {
	rows := map[string]instruction{}
	for _, in := range instructions() {
		if known, ok := rows[in.opcode()]; !ok || known.compile == nil {
			rows[in.opcode()] = in
		}
	}
	return rows
})

// dispatch compiles the current instruction by its opcode.
func (c *compiler) dispatch(o *op) {
	row, ok := c.program.opcodes[c.in.Op]
	switch {
	case !ok:
		c.fail("%s is not implemented", c.in.Op)
		return
	case row.compile == nil:
		c.fail("%s is not implemented: %s", c.in.Op, row.forms)
		return
	}
	row.compile(c, o)
	if o.kind == opALU && o.alu == nil {
		c.fail("this form of %s is not implemented", c.in.Op)
	}
}
