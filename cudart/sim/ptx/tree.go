package ptx

// Reg is a declared register.
type Reg struct {
	Name string
	Type Type
}

// Function is a device function, or the code of a kernel.
type Function struct {
	Name     string
	Number   int    // of a device function, among all that the module declares; from 0
	Params   []*Var // in space Param, or in registers: then Reg is one
	Results  []*Var // likewise; a kernel has none
	NoReturn bool   // it promises not to return
	Line     int
	Defined  bool // it has a body

	// The tree of the body, which Module.Read makes.
	Regs []Reg  // those of Results and Params that are registers, then all that the body uses
	Vars []*Var // .shared, .local and .param variables of the body
	Body []Inst
	Locs []Loc // Inst.Loc indexes it

	// CallBytes is the size of all .param variables of the body, at Var.Offset. Those of scopes that
	// do not overlap share their place.
	CallBytes int64

	from mark // of the body, behind its opening brace
}

// mark is a place in the text.
type mark struct{ pos, line int }

// Entry is a kernel.
type Entry struct {
	Function
	MaxThreads int // the largest block that .maxntid allows; 0 if none is given
	MaxCluster int // the largest cluster that .maxclusterrank allows; 0 if none is given
	MinBlocks  int // what .minnctapersm asks for: blocks that a multiprocessor holds at once; 0 if none is given
	// Block and Cluster are what .reqntid and .reqnctapercluster demand, in x, y and z; zeros if not given.
	Block, Cluster  [3]int
	ExplicitCluster bool // .explicitcluster: a launch must give the size of clusters
	// BlocksAreClusters: .blocksareclusters, by which a launch's grid counts clusters.
	BlocksAreClusters bool
}

// Signature is what a call through a register may find: a .callprototype, or the functions of a
// .calltargets.
type Signature struct {
	Params, Results []*Var
	NoReturn        bool
	Targets         []string // nil in a prototype
}

// Loc is a place in the source that the PTX was made of.
type Loc struct {
	File, Line int
	// Inlined is the place of the call, where the code was inlined: an index in Function.Locs; or -1.
	Inlined int
}

// Inst is one instruction.
type Inst struct {
	Line  int
	Text  string // source text as it was written; Source is for messages
	Loc   int    // index in Function.Locs, or -1
	Guard Guard
	Op    string   // "ld"
	Mods  []string // "global", "v4", "b32"
	Args  []Operand
}

// Source is the text with spaces squeezed, shortened to a line.
func (in *Inst) Source() string { return squeeze(in.Text) }

// Guard is the predicate of @p or @!p.
type Guard struct {
	Reg    int // index in Function.Regs, or -1 when the instruction is unconditional
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
	List                         // Elems: the arguments or results of a call
	Callees                      // Signature: what an indirect call may find
)

// Operand is one operand of an instruction.
type Operand struct {
	Kind   OperandKind
	Reg    int
	Negate bool   // "!p"
	Minus  bool   // "-r"
	Part   string // "h0" of "r.h0"
	Bits   uint64
	Name   string
	Offset int64
	Target int // index in Function.Body; len(Body) is the end
	Table  []int
	Elems  []Operand

	Signature *Signature
}
