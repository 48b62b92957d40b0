// Package ptx parses PTX, the assembly language of NVIDIA GPUs, into a typed
// syntax tree.
//
// The grammar is that of NVIDIA's "Parallel Thread Execution ISA". The parser
// knows the shape of the language, not its instructions: which opcodes and
// modifiers mean something is for the consumer of the tree to say. Scopes are
// resolved here, so that registers are numbers and labels are instruction
// indices; debug information is skipped.
package ptx

import "fmt"

// Module is one parsed PTX file.
type Module struct {
	Name    string // as given to Parse; appears in errors
	Major   int    // PTX ISA version
	Minor   int
	Target  string // such as "sm_90a"
	SM      int    // the number in Target: 80 for sm_80
	Feature string // what follows it: "a", specific to one architecture, "f" to a family, or ""
	Vars    []*Var // module-scope .global, .const and .shared variables
	Entries []*Entry
}

// AtLeast reports whether the module is of this PTX ISA version or a newer one.
func (m *Module) AtLeast(major, minor int) bool {
	return m.Major > major || m.Major == major && m.Minor >= minor
}

// Space is a PTX state space.
type Space uint8

// The state spaces. Generic is the space of an access that names none.
const (
	Generic Space = iota
	Const
	Global
	Local
	Param
	Shared        // of the executing block
	SharedCluster // of any block of its cluster
)

var spaceNames = [...]string{"generic", "const", "global", "local", "param", "shared", "shared::cluster"}

func (s Space) String() string { return spaceNames[s] }

// ParseSpace finds a state space by its name without the dot. Windows that
// name the executing block, as in "shared::cta", count as the space itself.
func ParseSpace(name string) (Space, bool) {
	switch name {
	case "shared::cta":
		name = "shared"
	case "param::entry":
		name = "param"
	}
	for i, n := range spaceNames {
		if n == name && Space(i) != Generic {
			return Space(i), true
		}
	}
	return Generic, false
}

// Var is a variable or a kernel parameter.
type Var struct {
	Name   string
	Space  Space
	Type   Type  // of one element
	Align  int   // bytes
	Size   int64 // bytes; 0 for an extern array without bounds
	Extern bool
	Init   []Datum // initial elements in order; the rest is zero
	Line   int
}

// Datum is one element of an initialiser: the number Bits, or the address of
// Symbol plus Bits.
type Datum struct {
	Bits   uint64
	Symbol string
}

// Reg is a declared register.
type Reg struct {
	Name string
	Type Type
}

// Entry is a kernel.
type Entry struct {
	Name       string
	Params     []*Var
	Regs       []Reg  // every register that the body uses; Operand.Reg indexes it
	Vars       []*Var // .shared and .local variables of the body
	Body       []Inst
	MaxThreads int // the largest block that .maxntid allows; 0 if none is given
	MaxCluster int // the largest cluster that .maxclusterrank allows; 0 if none is given
	// Block and Cluster are what .reqntid and .reqnctapercluster demand, in x, y and z; zeros if not given.
	Block, Cluster  [3]int
	ExplicitCluster bool // .explicitcluster: a launch must give the size of clusters
	// BlocksAreClusters: .blocksareclusters, by which a launch's grid counts clusters.
	BlocksAreClusters bool
	Line              int
}

// Inst is one instruction.
type Inst struct {
	Line  int
	Text  string // source text, with spaces squeezed
	Guard Guard
	Op    string   // "ld"
	Mods  []string // "global", "v4", "b32"
	Args  []Operand
}

// Guard is the predicate of @p or @!p.
type Guard struct {
	Reg    int // index in Entry.Regs, or -1 when the instruction is unconditional
	Negate bool
}

// OperandKind tells which fields of an Operand count.
type OperandKind uint8

// The kinds of operands.
const (
	Register  OperandKind = iota // Reg, Negate
	Immediate                    // Bits: a 64-bit two's complement integer
	Float32                      // Bits: an IEEE single
	Float64                      // Bits: an IEEE double
	Symbol                       // Name of a variable or parameter, Offset
	Special                      // Name of a special register, such as "%tid.x"
	Label                        // Target
	Targets                      // Table: the labels of a .branchtargets list
	Vector                       // Elems
	Address                      // Elems[0] is the base, Offset; Elems[1], if there, a Vector of coordinates in a tensor
	Pair                         // Elems: the two destinations of "p|q"
	Sink                         // "_": a result nobody wants
)

// Operand is one operand of an instruction.
type Operand struct {
	Kind   OperandKind
	Reg    int
	Negate bool // "!p"
	Bits   uint64
	Name   string
	Offset int64
	Target int // index in Entry.Body; len(Body) is the end
	Table  []int
	Elems  []Operand
}

// Error is a complaint about one line of PTX.
type Error struct {
	Module string
	Line   int
	Text   string // the offending source, possibly shortened
	Reason string
}

func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%s:%d: %s", e.Module, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s: %q", e.Module, e.Line, e.Reason, e.Text)
}
