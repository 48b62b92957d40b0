package phases

import (
	"context"
	"sync"
	"time"
)

// Span is the time that a process was in a phase. Times are since the machine's boot.
type Span struct {
	Phase Phase         `json:"phase"`
	Begin time.Duration `json:"begin_ns"`
	End   time.Duration `json:"end_ns"`
	// Concurrent marks a span that overlaps with others. All other spans of a process
	// follow one another.
	Concurrent bool `json:"beside,omitempty"`
}

// Recorder notes the phases of a process. It is safe for concurrent use. A nil
// Recorder notes nothing.
type Recorder struct {
	mu         sync.Mutex
	clock      func() time.Duration
	spans      []Span // one after the other; the last one has not ended
	concurrent []Span
}

// NewRecorder returns a recorder without phases.
func NewRecorder() *Recorder { return &Recorder{clock: now} }

// Begin ends the current phase and begins p. Phases only go forward: a step that is
// repeated later, such as loading the kernels of another case, counts for the phase
// that is then current.
func (r *Recorder) Begin(p Phase) {
	if r == nil {
		return
	}
	r.begin(p, r.clock())
}

// begin is Begin at a given time.
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

// Concurrent notes a phase that overlaps with others, from now until end is called.
func (r *Recorder) Concurrent(p Phase) (end func()) {
	if r == nil {
		return func() {}
	}
	begin := r.clock()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.concurrent = append(r.concurrent, Span{Phase: p, Begin: begin, End: r.clock(), Concurrent: true})
	}
}

// Spans returns the phases up to now, and then the concurrent ones. In the result, the
// current phase ends now.
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
	return append(all, r.concurrent...)
}

// contextKey is the key of a context's recorder.
type contextKey struct{}

// NewContext returns a context that carries r.
func NewContext(ctx context.Context, r *Recorder) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

// FromContext returns the recorder that the context carries, or nil. It accepts a nil
// context, which a cobra command has before it is executed.
func FromContext(ctx context.Context) *Recorder {
	if ctx == nil {
		return nil
	}
	r, _ := ctx.Value(contextKey{}).(*Recorder)
	return r
}
