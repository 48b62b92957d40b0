// Package ptx parses PTX, the assembly language of NVIDIA GPUs, into a typed
// syntax tree.
//
// The grammar is that of NVIDIA's "Parallel Thread Execution ISA". The parser
// knows the shape of the language, not its instructions: which opcodes and
// modifiers mean something is for the consumer of the tree to say. Scopes are
// resolved here, so that registers are numbers and labels are instruction
// indices. Debug sections are skipped.
//
// [Parse] checks the syntax of a whole module and keeps its declarations. The instructions of a
// kernel or a function become a tree when [Module.Read] asks for it: a module may have a thousand
// kernels, of which one is used.
package ptx

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
	// Functions are those of .func, by name; Aliases are further names of theirs.
	Functions map[string]*Function
	Aliases   map[string]string
	// Addressed are the names whose address initializers and instructions take.
	Addressed map[string]bool
	// Files are the sources that .file numbers.
	Files map[int]string

	src string
}

// Function finds a device function by its name or an alias.
func (m *Module) Function(name string) (*Function, bool) {
	if original, ok := m.Aliases[name]; ok {
		name = original
	}
	f, ok := m.Functions[name]
	return f, ok
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
	case "param::entry", "param::func":
		name = "param"
	}
	for i, n := range spaceNames {
		if n == name && Space(i) != Generic {
			return Space(i), true
		}
	}
	return Generic, false
}
