package litmus

// Test is a litmus test: what a few threads do, and a condition on the states in which they end.
type Test struct {
	Name       string
	Locations  []Location
	Threads    []Thread
	Quantifier Quantifier
	// Condition and Filter are nil where the test has none. Only states that Filter accepts count.
	Condition, Filter Condition
}

// Location is a name for memory of one word. All words have the same size, and none overlaps another in part.
type Location struct {
	Name string
	// Generic is the location by whose address the generic proxy reaches the same word, and Memory the location that
	// was declared first for it. Both are indices in Test.Locations, its own where it aliases nothing.
	Generic, Memory int
	Initial         int64
}

// Thread is a thread with its place: two threads are in one CTA where both numbers are equal.
type Thread struct {
	Name      string
	CTA, GPU  int
	Registers []Register
	Code      []Instruction
}

// Register is a register of a thread, with the value before its first instruction.
type Register struct {
	Name    string
	Initial int64
}

// Quantifier says which states must satisfy the condition.
type Quantifier string

// The quantifiers.
const (
	Exists    Quantifier = "exists"
	NotExists Quantifier = "~exists"
	ForAll    Quantifier = "forall"
)

// Opcode is what an instruction does.
type Opcode uint8

// The opcodes.
const (
	Move Opcode = iota
	Arithmetic
	Load
	Store
	Atomic
	Fence
	ProxyFence
	Barrier
	Branch
)

// Order is the strength of a memory operation, or of a fence.
type Order uint8

// The orders. Volatile operations are relaxed ones at system scope.
const (
	Weak Order = iota
	Relaxed
	Acquire
	Release
	AcquireRelease
	SequentiallyConsistent
)

func (o Order) acquires() bool { return o == Acquire || o >= AcquireRelease }
func (o Order) releases() bool { return o >= Release }

// Scope is the set of threads with which a strong operation synchronizes.
type Scope uint8

// The scopes.
const (
	NoScope Scope = iota
	CTA
	GPU
	System
)

// Proxy is the path by which an operation reaches memory.
type Proxy uint8

// The proxies. Alias is that of fence.proxy.alias, which no memory operation has.
const (
	NoProxy Proxy = iota
	Generic
	Surface
	Texture
	Constant
	Alias
)

// Instruction is an instruction of a thread.
type Instruction struct {
	Opcode Opcode
	Line   int
	Text   string

	Order    Order
	Scope    Scope
	Proxy    Proxy
	Location int // of Load, Store and Atomic
	// Register gets the result; -1 is none.
	Register int
	// Operation is that of Arithmetic and Atomic, such as "add", and the comparison of Branch, empty if always taken.
	Operation string
	Operands  []Operand
	Target    int // of Branch, an index in Thread.Code
	Barrier   BarrierForm
}

// BarrierForm is how a barrier is written.
type BarrierForm struct {
	Arrive bool // does not wait
	// Static is set for bar.cta: the first operand numbers the instruction, the second the barrier, the third is how
	// many threads it waits for. Without it, the first operand is the barrier, the second how many.
	Static bool
}

// Operand is a register, or a number where Register is -1.
type Operand struct {
	Register int
	Value    int64
}
