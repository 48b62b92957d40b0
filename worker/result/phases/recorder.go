package phases

import (
	"context"
	"sync"
	"time"
)

// Span is when a process was in a phase. Times are since the machine's boot.
type Span struct {
	Phase Phase         `json:"phase"`
	Begin time.Duration `json:"begin_ns"`
	End   time.Duration `json:"end_ns"`
	// Beside marks what went on beside the other spans, which follow one another.
	Beside bool `json:"beside,omitempty"`
}

// Recorder notes the phases of a process. It is safe for concurrent use. A nil
// Recorder notes nothing.
type Recorder struct {
	mu     sync.Mutex
	clock  func() time.Duration
	spans  []Span // one after the other; the last goes on
	beside []Span
}

// NewRecorder returns a recorder that has noted nothing yet.
func NewRecorder() *Recorder { return &Recorder{clock: now} }

// Begin ends the phase that goes on and begins p. Phases only go forward: what is
// done again, such as the loading of a later case's kernels, counts for the phase in
// which that happens.
func (r *Recorder) Begin(p Phase) {
	if r == nil {
		return
	}
	r.begin(p, r.clock())
}

// begin is Begin at another time.
func (r *Recorder) begin(p Phase, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.spans); n > 0 {
		last := &r.spans[n-1]
		if p <= last.Phase {
			return
		}
		last.End = at
	}
	r.spans = append(r.spans, Span{Phase: p, Begin: at})
}

// Beside notes something that goes on beside the phases until end is called.
func (r *Recorder) Beside(p Phase) (end func()) {
	if r == nil {
		return func() {}
	}
	begin := r.clock()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.beside = append(r.beside, Span{Phase: p, Begin: begin, End: r.clock(), Beside: true})
	}
}

// Spans returns the phases up to now, and then what went on beside them. The phase
// that goes on ends now in what is returned.
func (r *Recorder) Spans() []Span {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append([]Span(nil), r.spans...)
	if n := len(all); n > 0 {
		all[n-1].End = r.clock()
	}
	return append(all, r.beside...)
}

// contextKey is where a context has its recorder.
type contextKey struct{}

// NewContext returns a context that carries r.
func NewContext(ctx context.Context, r *Recorder) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the recorder that the context carries, or nil. A nil context,
// as a command has that is not executed, carries none.
func FromContext(ctx context.Context) *Recorder {
	if ctx == nil {
		return nil
	}
	r, _ := ctx.Value(contextKey{}).(*Recorder)
	return r
}
