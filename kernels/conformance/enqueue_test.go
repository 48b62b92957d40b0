package conformance

import (
	"fmt"
	"testing"

	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// unlaunched is a stream that counts launches and makes none.
type unlaunched struct {
	cudart.Stream
	launches int
}

func (u *unlaunched) Launch(cudart.Kernel, cudart.Launch, []byte) error {
	u.launches++
	return nil
}

// launchAlone returns a function that enqueues a call of an algorithm with loaded kernels. ok: the call is a launch and
// nothing else.
func (m *member) launchAlone(a *collective.Algorithm) (enqueue func() error, ok bool, err error) {
	c, _ := kernels.Find(a.Collective)
	if a.Collective == "barrier" || a.Name == "naive" || a.Name == "copy_engine" {
		return nil, false, nil
	}
	call := collective.Call{Send: m.send, Recv: m.recv, Count: 500, DType: collective.Float, Op: collective.None}
	if c.Shape.Reduces {
		call.Op = collective.Sum
	}
	s := &unlaunched{Stream: m.stream}
	enqueue = func() error { return a.Enqueue(m.comm, s, call) }
	if err := enqueue(); err != nil || s.launches != 1 {
		return nil, false, fmt.Errorf("%s %s launches %d kernels: %w", a.Collective, a.Name, s.launches, err)
	}
	return enqueue, true, nil
}

// Enqueuing a call allocates no Go memory: the host is the bottleneck of small calls that are launched one by one.
func TestEnqueueAllocatesNothing(t *testing.T) {
	group{world: 1}.run(t, func(m *member) error {
		for _, a := range algorithms() {
			enqueue, ok, err := m.launchAlone(a)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if n := testing.AllocsPerRun(100, func() { err = enqueue() }); n > 0 || err != nil {
				t.Errorf("%s %s allocates %g times: %v", a.Collective, a.Name, n, err)
			}
		}
		return nil
	})
}

// BenchmarkEnqueue measures the host's time for a call, without the driver's part.
func BenchmarkEnqueue(b *testing.B) {
	for _, a := range algorithms() {
		b.Run(a.Collective+"/"+a.Name, func(b *testing.B) {
			group{world: 1}.run(b, func(m *member) error {
				enqueue, ok, err := m.launchAlone(a)
				if !ok || err != nil {
					return err
				}
				for b.Loop() {
					if err := enqueue(); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}
