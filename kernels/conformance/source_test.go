package conformance

import (
	"sync"

	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// catalog has the kernels of the catalog. Every rank of every test loads them: to unpack them each time would take
// seconds.
var catalog = readOnce(ptx.Source)

// readOnce is a source that reads each module once. Callers must not change the text.
func readOnce(source collective.Source) collective.Source {
	type reading func() ([]byte, error)
	var mu sync.Mutex
	readings := map[string]reading{}
	return func(module string) ([]byte, error) {
		mu.Lock()
		read, ok := readings[module]
		if !ok {
			read = sync.OnceValues(func() ([]byte, error) { return source(module) })
			readings[module] = read
		}
		mu.Unlock()
		return read()
	}
}
