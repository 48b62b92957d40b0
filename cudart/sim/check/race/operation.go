package race

// Scope is the set of threads that an operation synchronizes with.
type Scope uint8

// The scopes. Weak operations have none.
const (
	NoScope Scope = iota
	BlockScope
	ClusterScope
	GPUScope
	SystemScope
)

var scopeNames = [...]string{"none", "cta", "cluster", "gpu", "sys"}

func (s Scope) String() string { return scopeNames[s] }

// Place says which threads are in one another's scopes.
type Place struct {
	Rank int
	// Launch, Cluster and Block are numbers of a grid, of one of its clusters, and of a block. Launch is 0 for streams
	// and hosts.
	Launch, Cluster, Block int
}

// reaches reports whether a scope of an operation at a place includes another place.
func (s Scope) reaches(from, to Place) bool {
	switch s {
	case SystemScope:
		return true
	case GPUScope:
		return from.Rank == to.Rank
	case ClusterScope:
		return from.Rank == to.Rank && from.Launch == to.Launch && from.Cluster == to.Cluster && from.Launch != 0
	case BlockScope:
		return from == to && from.Launch != 0
	}
	return false
}

// Kind is whether an operation reads, writes, or does both at once.
type Kind uint8

// The kinds of operations; Fence accesses no memory.
const (
	Read Kind = iota
	Write
	Update
	Fence
)

var kindNames = [...]string{"reads", "writes", "updates", "fences"}

func (k Kind) String() string { return kindNames[k] }

// Site is where an operation is in a program. Two sites are equal where they are the same instruction. The detector
// only passes it on.
type Site any

// Operation is what a thread does to memory, or a fence.
type Operation struct {
	Kind             Kind
	Scope            Scope // not NoScope: the access is strong
	Acquire, Release bool
	Bytes            uint64 // of an element, a power of two up to 256; all elements are aligned to it
	Vector           int    // elements of a strong vector access; 0 of others
	Proxy            Proxy
	Space            Space
	Multicast        bool // by a multicast address
	ReadOnly         bool // a read by .nc, of memory that nobody writes while the grid runs
	Reduction        bool // red, whose read begins no acquire pattern
	Site             Site

	met *meetings // of this operation behind others, or nil
}

func (o *Operation) strong() bool { return o.Scope != NoScope }
