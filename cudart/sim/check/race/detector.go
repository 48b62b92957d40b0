package race

import "slices"

// Detector follows threads and memory, and collects findings. It belongs to one goroutine.
type Detector struct {
	threads  int
	findings []Finding
	known    map[pair]int // index in findings
}

// New makes a detector that knows no threads.
func New() *Detector { return &Detector{known: map[pair]int{}} }

// Thread is what has a program order: a warp, a stream, or the host code of a rank.
type Thread struct {
	// Name tells people which thread it is. The detector passes it on.
	Name  any
	place Place

	number int
	time   uint32
	known  knowledge
	// fences are the last releasing fences, by scope. One is dropped when a later fence has a wider scope.
	fences [SystemScope + 1]*release
	// seen are the messages that strong reads have observed, until a fence has acquired them.
	seen []observation
}

// NewThread makes a thread that begins after what the parents have done.
func (d *Detector) NewThread(name any, at Place, parents ...*Thread) *Thread {
	t := &Thread{Name: name, place: at, number: d.threads}
	d.threads++
	for _, p := range parents {
		d.Join(t, p)
	}
	t.tick()
	return t
}

// tick begins a new time of the thread: what it does from now on does not happen before what it has released.
func (t *Thread) tick() {
	t.time++
	t.known.ordered.set(t.number, t.time)
	t.known.anyScope.set(t.number, t.time)
}

// Join orders all that a thread has done before all that another one does from now on.
func (d *Detector) Join(later, earlier *Thread) {
	later.known.join(&earlier.known)
	earlier.tick()
}

// Moment is a place in the program of a thread.
type Moment struct{ known knowledge }

// Now is the place that a thread has reached.
func (d *Detector) Now(t *Thread) Moment {
	m := Moment{t.known.copy()}
	t.tick()
	return m
}

// After orders all that led to a moment before all that a thread does from now on.
func (d *Detector) After(t *Thread, m *Moment) { t.known.join(&m.known) }

// Barrier collects what the threads know that arrive at a barrier.
type Barrier struct{ known knowledge }

// Arrive adds what a thread has done.
func (d *Detector) Arrive(b *Barrier, t *Thread) {
	b.known.join(&t.known)
	t.tick()
}

// Release lets threads go on that have waited for a barrier, and empties it.
func (d *Detector) Release(b *Barrier, waiting []*Thread) {
	for _, t := range waiting {
		t.known.join(&b.known)
	}
	*b = Barrier{}
}

// Fence is a fence of a thread.
func (d *Detector) Fence(t *Thread, op *Operation) {
	if op.Acquire {
		t.seen = slices.DeleteFunc(t.seen, func(o observation) bool { return t.acquire(o, op) })
	}
	if op.Release {
		for s := range op.Scope {
			t.fences[s] = nil
		}
		t.fences[op.Scope] = t.release(op)
	}
}

// Findings are the races so far, in the order in which they were seen first.
func (d *Detector) Findings() []Finding { return slices.Clone(d.findings) }
