package litmus

import "slices"

// roundOf is a barrier of a CTA with the threads that have arrived and not been let go on.
type roundOf struct {
	cta, gpu int
	static   bool
	number   [2]int64 // of bar.cta, instruction and barrier
	count    int64    // of threads; 0: all of the CTA that have not ended
	arrived  []arrivedThread
}

type arrivedThread struct {
	thread int
	waits  bool
}

// arrive has a thread arrive at a barrier of its CTA.
func (m *machine) arrive(thread int, in *Instruction, value func(int) int64) {
	t := &m.test.Threads[thread]
	r := roundOf{cta: t.CTA, gpu: t.GPU, static: in.Barrier.Static, number: [2]int64{value(0)}}
	operands := 1
	if r.static && len(in.Operands) > 1 {
		r.number[1], operands = value(1), 2
	}
	if len(in.Operands) > operands {
		r.count = value(operands)
	}
	at := slices.IndexFunc(m.barriers, func(o roundOf) bool {
		return o.cta == r.cta && o.gpu == r.gpu && o.static == r.static && o.number == r.number
	})
	if at < 0 {
		at = len(m.barriers)
		m.barriers = append(m.barriers, r)
	}
	b := &m.barriers[at]
	b.count = r.count
	b.arrived = append(b.arrived, arrivedThread{thread, !in.Barrier.Arrive})
	m.waits[thread] = !in.Barrier.Arrive
}

// open lets threads go on whose barriers are complete. An end of a thread may complete one.
func (m *machine) open() {
	for i := range m.barriers {
		b := &m.barriers[i]
		need := b.count
		for thread := range m.at {
			t := &m.test.Threads[thread]
			if b.count == 0 && t.CTA == b.cta && t.GPU == b.gpu && !m.ended(thread) {
				need++
			}
		}
		if len(b.arrived) == 0 || int64(len(b.arrived)) < need {
			continue
		}
		for _, a := range b.arrived {
			if a.waits {
				m.waits[a.thread] = false
			}
		}
		b.arrived = nil
	}
}
