package sim

import (
	"crypto/sha256"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"gpurun/cudart/sim/exec"
	"gpurun/cudart/sim/ptx"
)

// compiled is what has become of PTX: a program, whose kernels are compiled when a device asks for them, or an
// error. Devices share it.
type compiled struct {
	header  *ptx.Module
	program *exec.Program
	invalid error // what the parser says, or what is wrong with the variables
}

// source identifies PTX text, and the name by which errors call it.
type source struct {
	name string
	sum  [sha256.Size]byte
}

// compilations are those that this process made last: ranks that share a
// process load the same text, often one test after another. There is room for all
// modules of gpurun and for variants in tests.
var compilations = newCompilations(512)

func newCompilations(size int) *lru.Cache[source, func() *compiled] {
	cache, err := lru.New[source, func() *compiled](size)
	if err != nil {
		panic(err) // the size is not positive
	}
	return cache
}

// compile parses text, which may not change later, unless that was done
// before. Callers that come meanwhile wait for the first one.
func compile(name string, text []byte) *compiled {
	key := source{name, sha256.Sum256(text)}
	if once, ok := compilations.Get(key); ok {
		return once()
	}
	once := sync.OnceValue(func() *compiled { return newCompiled(name, text) })
	if first, ok, _ := compilations.PeekOrAdd(key, once); ok {
		once = first
	}
	return once()
}

func newCompiled(name string, text []byte) *compiled {
	parsed, err := ptx.Parse(name, text)
	if err != nil {
		return &compiled{invalid: err}
	}
	program, err := exec.Load(parsed)
	return &compiled{header: parsed, program: program, invalid: err}
}
