package tcpstore

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/rendezvous/transport"
)

// Limits bound what clients can make a server hold. Zero means the default.
type Limits struct {
	Connections int   // at once; a client of PyTorch 1.13 has two. As in package transport. A silent one takes 7 KiB
	KeyBytes    int   // of one key: 8 KiB, as PyTorch has it
	ValueBytes  int   // of one value: 8 MiB, as PyTorch has it
	RequestKeys int   // in one request: 131,072, as PyTorch has it
	TotalBytes  int64 // of all that is stored, and again of requests and replies that are under way: see defaultTotal

	// RequestTime is how long a request may take to arrive, and a reply to be
	// taken: a minute. Between requests a client may be silent for ever.
	RequestTime time.Duration
}

// errLimit is the error of a request that is over a limit.
var errLimit = errors.New("over a limit of the store")

// perEntry is about what the server itself needs for a key, so that empty
// ones are not free.
const perEntry = 64

func (l Limits) withDefaults() (Limits, error) {
	if l.Connections < 0 || l.KeyBytes < 0 || l.ValueBytes < 0 || l.RequestKeys < 0 || l.TotalBytes < 0 ||
		l.RequestTime < 0 {
		return l, fmt.Errorf("limits of the store: negative, in %+v", l)
	}
	or(&l.Connections, transport.MostConnections())
	or(&l.KeyBytes, 8<<10)
	or(&l.ValueBytes, 8<<20)
	or(&l.RequestKeys, 128<<10)
	or(&l.TotalBytes, defaultTotal())
	or(&l.RequestTime, time.Minute)
	return l, nil
}

// defaultTotal is an eighth of the host's memory, from 256 MiB to 4 GiB. Gloo has
// every rank set the addresses of its pairs: at 4,096 ranks, 1 GiB and more.
func defaultTotal() int64 {
	const least, most = 256 << 20, 4 << 30
	var host unix.Sysinfo_t
	if err := unix.Sysinfo(&host); err != nil {
		return least
	}
	return int64(min(max(host.Totalram*uint64(host.Unit)/8, least), most))
}

func or[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// budget is a number of bytes that connections share.
type budget struct {
	mu   sync.Mutex
	free int64
}

// change takes what is now more than before, and gives back what is less. It
// returns false, and takes nothing, when less is left.
func (b *budget) change(before, now int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now-before > b.free {
		return false
	}
	b.free += before - now
	return true
}
