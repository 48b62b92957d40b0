package session

import (
	"maps"
	"sync"
	"time"

	"gpurun/worker/process/agent"
	"gpurun/worker/process/report"
)

// doing is what the ranks of this machine have said about what they do. It is safe for concurrent use.
type doing struct {
	mu     sync.Mutex
	phases map[int]phaseOf      // by rank
	states map[int]report.State // the answers to the last question
	more   chan struct{}        // closed and replaced when an answer comes
}

// phaseOf is what a rank has begun last.
type phaseOf struct {
	name string
	at   time.Time
}

// note takes down what a message says.
func (d *doing) note(rank int, m report.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case m.Kind == report.KindPhase && m.Phase != d.phases[rank].name:
		if d.phases == nil {
			d.phases = map[int]phaseOf{}
		}
		d.phases[rank] = phaseOf{m.Phase, time.Now()}
	case m.Kind == report.KindState && d.states != nil:
		d.answer(rank, *m.State)
	case m.Kind == report.KindFailure && d.states != nil: // it ends, and does not answer any more
		d.answer(rank, report.State{Step: agent.HasFailed})
	}
}

// answer notes what a rank does. The caller holds mu.
func (d *doing) answer(rank int, s report.State) {
	d.states[rank] = s
	close(d.more)
	d.more = make(chan struct{})
}

// ask begins a question. answers returns the answers when there are so many, or when over is closed.
func (d *doing) ask() (answers func(wanted int, over <-chan struct{}) map[int]report.State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.states, d.more = map[int]report.State{}, make(chan struct{})
	return func(wanted int, over <-chan struct{}) map[int]report.State {
		for {
			d.mu.Lock()
			got, more := maps.Clone(d.states), d.more
			d.mu.Unlock()
			if len(got) >= wanted {
				return got
			}
			select {
			case <-more:
			case <-over:
				return got
			}
		}
	}
}

// phase is what a rank has begun last.
func (d *doing) phase(rank int) phaseOf {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.phases[rank]
}
