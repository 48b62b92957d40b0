package tcpstore

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"gpurun/rendezvous/transport"
)

// Limits bound what clients can make a server hold. Zero means the default.
type Limits struct {
	Connections int   // at once; a client of PyTorch 1.13 has two. As in package transport
	KeyBytes    int   // of one key: 8 KiB, as PyTorch has it
	ValueBytes  int   // of one value: 8 MiB, as PyTorch has it
	RequestKeys int   // in one request: 131,072, as PyTorch has it
	TotalBytes  int64 // of all that is stored, and again of all requests that are being read: 256 MiB

	// RequestTime is how long a request may take to arrive, and a reply to be
	// taken: a minute. Between requests a client may be silent for ever.
	RequestTime time.Duration
}

// errLimit is what somebody who asks for too much has run into.
var errLimit = errors.New("over a limit of the store")

// perEntry is about what the server itself needs for a key, so that empty
// ones are not free.
const perEntry = 64

func (l Limits) withDefaults() (Limits, error) {
	if l.Connections < 0 || l.KeyBytes < 0 || l.ValueBytes < 0 || l.RequestKeys < 0 || l.TotalBytes < 0 || l.RequestTime < 0 {
		return l, fmt.Errorf("limits of the store: negative, in %+v", l)
	}
	or(&l.Connections, transport.MostConnections())
	or(&l.KeyBytes, 8<<10)
	or(&l.ValueBytes, 8<<20)
	or(&l.RequestKeys, 128<<10)
	or(&l.TotalBytes, 256<<20)
	or(&l.RequestTime, time.Minute)
	return l, nil
}

func or[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// budget is a number of bytes that connections share.
type budget struct{ free atomic.Int64 }

func newBudget(n int64) *budget {
	b := &budget{}
	b.free.Store(n)
	return b
}

// take returns false, and takes nothing, when less than n is left.
func (b *budget) take(n int64) bool {
	if b.free.Add(-n) < 0 {
		b.free.Add(n)
		return false
	}
	return true
}

func (b *budget) give(n int64) { b.free.Add(n) }
