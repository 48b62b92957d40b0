package kernelfile

// File is a kernel file. [Parse] makes one that can be bound. One that is made in Go can be written by [File.Format].
type File struct {
	Path string // where it was read; paths in it are relative to its folder
	// Name is the algorithm's: by default the file's name without its extension.
	Name, Summary string
	// Collective is the name of a collective or of a product of matrices, or Custom.
	Collective string
	// Ops and Types list operations and element types by their canonical names. Ops is empty where nothing is reduced.
	// No Types are all types: see ElementTypes.
	Ops, Types []string
	// World lists the numbers of ranks that the kernel is for; empty: any.
	World []int
	// Let names expressions that others use. They may use one another, without a circle.
	Let map[string]Expr
	// Buffers are those beside the input and the output of a collective, which are called input and output, or beside
	// the matrices of a product: a, b, c and gathered. A file may list these as well, to name their properties.
	Buffers []Buffer
	// Globals are set once in each module that has a variable of that name, when the module has been loaded.
	Globals []Global
	// Steps are what one call enqueues, in order.
	Steps    []Step
	Contract Contract
	// Reference computes the outputs of a Custom file on one device; nil: expressions or files do, see Buffer.Expect.
	Reference *Step
}

// Custom is the Collective of a file whose outputs are proved by the file itself.
const Custom = "custom"

// Code says where the code of a launch is.
type Code struct {
	// Module is the path of PTX, a cubin or a fatbin, or of a folder of Triton's cache. {rank}, {world}, {type} and {op}
	// in it stand for their values.
	Module Text
	// Source is the path of a .cu or .cpp file, and Compile the command that makes PTX or a cubin of it. In the command
	// {source} and {output} stand for the two paths, and {folder} for that of the kernel file. The command runs only with
	// --compile.
	Source, Compile Text
	// Entry is the name of the kernel. Match selects it by its demangled name instead: * stands for any text, {type},
	// {ctype}, {world}, {rank} and {op} for their values.
	Entry, Match Text
}

// Text is a string of the file, with its place.
type Text struct {
	Text string
	Line int
}

// Buffer is memory of each rank.
type Buffer struct {
	Name string
	Line int
	Role Role
	Type string // of the elements of an input or output of a Custom file
	Size Expr   // bytes
	// Align is the alignment of its first byte, up to 256; 0: 256, but for an input and an output of a collective, which
	// --unaligned moves by an element.
	Align int64
	// Private: peers have no address of it. Host: it is memory of the host that the device can address.
	Private, Host bool
	// Init is what every byte, or every element of InitType, holds before the first call. Nil: poison.
	Init *Init
	// Reset has gpurun write Init before every call. Otherwise signals of one call are there in the next.
	Reset bool
	// Restored: the kernel leaves the buffer as it found it at first, which gpurun verifies.
	Restored bool
	// Rotate is how many copies of the buffer calls use in turn; 0 is 1.
	Rotate int
	// Expect is an expression over rank and i, the number of the element, for an output of a Custom file. ExpectFile and
	// InitFile are paths of .npy files, in which {rank} and {world} stand for their values.
	Expect               *Expr
	ExpectFile, InitFile Text
}

// Role says what a buffer is in verification.
type Role int

// The roles of buffers.
const (
	Scratch Role = iota // anything else
	Input               // filled by gpurun before each call, and not changed by the kernel
	Output              // poisoned before each call, and verified after it
)

// Init is the value that a buffer holds before the first call.
type Init struct {
	Type  string // u8, u32, f32, ...: as in an argument
	Value Expr   // over rank and i
}

// Global sets a variable of a module.
type Global struct {
	Name string
	Line int
	Arg  Arg
}

// Step is one thing that a call enqueues: a launch, a fill, a copy, or a barrier of all ranks. Exactly one of the
// four is not nil or true.
type Step struct {
	Line    int
	When    *Expr // the step is left out where it is false
	Launch  *Launch
	Fill    *Fill
	Copy    *Copy
	Barrier bool // gpurun's own barrier kernel
}

// Launch is a launch of a kernel. Grid, Block and Cluster have one to three expressions.
type Launch struct {
	Code
	Grid, Block, Cluster []Expr
	Shared               Expr // bytes of dynamic shared memory
	Cooperative, PDL     bool
	// Resident is how many blocks must be resident at once for the kernel to end; nil: the kernel does not depend on that.
	Resident *Expr
	Args     []Arg
}

// Fill is a memset of bytes.
type Fill struct {
	Buffer        Text
	Value         Expr // 0 to 255
	Offset, Bytes Expr // Bytes is by default the rest of the buffer
}

// Copy copies bytes between buffers, of any rank.
type Copy struct {
	From, To             Text
	FromRank, ToRank     *Expr // nil: this rank
	FromOffset, ToOffset Expr
	Bytes                Expr // by default those of From
}

// Arg is one argument of a kernel, or one member of a struct.
type Arg struct {
	Kind ArgKind
	Line int
	// Buffer is that of Pointer, Pointers, Table, Multicast and TensorMap.
	Buffer Text
	// Rank is whose buffer it is; nil: this rank's. In Pointers, Table and the members of Structs it is an expression
	// over i, the number of the entry; nil: i.
	Rank *Expr
	// Offset is added to the address, in bytes.
	Offset *Expr
	// Entries is the number of entries of Pointers, Table and Structs; nil: the number of ranks. A Struct that has it, or
	// has Pad, is an array.
	Entries *Expr
	// Pad is the number of entries with the null entries behind them; 0: there are none.
	Pad int
	// Rest: a Null stands for as many null pointers as the kernel has further parameters, none included.
	Rest bool
	// Value is that of a Number.
	Value Expr
	Type  string // of a Number: i8 to i64, u8 to u64, f16, bf16, f32, f64
	Bytes []byte // of Raw
	// Members are those of a Struct and of each of Structs. Align is the struct's alignment; 0: that of its members.
	Members []Arg
	Align   int
	// Map is that of a TensorMap.
	Map *TensorMap
	// Comment is written behind the argument by [File.Format]. Parse leaves it empty.
	Comment string
}

// isArray reports whether the members of a struct may depend on i, the number of an entry.
func (a *Arg) isArray() bool {
	return a.Kind == Structs || a.Kind == Struct && (a.Entries != nil || a.Pad > 0)
}

// ArgKind says what an argument is.
type ArgKind int

// The kinds of arguments.
const (
	Number    ArgKind = iota
	Pointer           // the address of a buffer, of this rank by default
	Pointers          // one argument, or member, for each rank: the addresses of all ranks' buffers
	Table             // the address of an array in device memory of the addresses of all ranks' buffers
	Struct            // members by value
	Structs           // the address of an array in device memory of structs, one for each rank
	Multicast         // the multicast address of a symmetric buffer
	Tensor            // a tensor map
	Raw               // bytes
	Null              // a null pointer
)

// TensorMap describes a tensor for a bulk copy: see cudart.TensorMap.
type TensorMap struct {
	Type    string // u8, ..., bf16, f32, f64, tf32
	Sizes   []Expr // elements, innermost first
	Strides []Expr // bytes, of dimension 1 and up; none: packed
	Box     []Expr
	Steps   []Expr
	Swizzle Expr
	FillNaN bool
	L2      Expr // L2 promotion
}

// Contract is what the kernel takes and promises.
type Contract struct {
	// CountMultiple is what the count must be a multiple of, Alignment the bytes of the input's and the output's.
	CountMultiple, Alignment *Expr
	// MMultiple, NMultiple and KMultiple are what the extents of a product of matrices must be multiples of.
	MMultiple, NMultiple, KMultiple *Expr
	// MaxBytes is the largest part.
	MaxBytes *Expr
	// InPlace: "yes", "no" or "only"; empty is yes where the collective can.
	InPlace string
	// Order is "rank" where the ranks are reduced in the order 0 to n-1, to the bit; otherwise results lie within bounds.
	Order string
	// Accumulate is the type of the sums; empty: float for floats of up to 32 bits, else the element type.
	Accumulate string
	// Stepwise: every partial result is rounded to the element type.
	Stepwise bool
	// An output of a Custom file may differ from what is expected by AbsoluteTolerance + Tolerance * |expected|; nil is 0.
	Tolerance, AbsoluteTolerance *Expr
}

// Expr is an expression with its place. Its zero value is absent: see [Expr.IsZero].
type Expr struct {
	Text string
	Line int
	compiled
}
