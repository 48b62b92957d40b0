package worker

import "sync"

// failure is why Run ends, while it may still be closing. The watchdog asks for it
// beside Run.
type failure struct {
	mu  sync.Mutex
	err error
}

func (f *failure) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// get is nil while nothing has failed.
func (f *failure) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
