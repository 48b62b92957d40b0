package worker

import (
	"sync"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/worker/workload"
)

// launches notes, of the launches of all ranks, how many of a kernel were brief, long, and
// brief on a stream that was not prepared for it.
type launches struct {
	mu                      sync.Mutex
	brief, long, unprepared map[string]int
}

type notingBackend struct {
	cudart.Backend
	log *launches
}

type notingDevice struct {
	*sim.Device
	log *launches
}

type notingStream struct {
	cudart.Stream
	log      *launches
	prepared map[cudart.Kernel]bool
}

func (b notingBackend) Open(ordinal int) (cudart.Device, error) {
	d, err := b.Backend.Open(ordinal)
	if err != nil {
		return nil, err
	}
	return notingDevice{d.(*sim.Device), b.log}, nil
}

func (d notingDevice) NewStream(o ...cudart.StreamOption) (cudart.Stream, error) {
	s, err := d.Device.NewStream(o...)
	return notingStream{s, d.log, map[cudart.Kernel]bool{}}, err
}

func (s notingStream) Prepare(k cudart.Kernel) error {
	s.prepared[k] = true
	return s.Stream.Prepare(k)
}

func (s notingStream) Launch(k cudart.Kernel, shape cudart.Launch, params []byte) error {
	s.log.mu.Lock()
	switch {
	case !shape.ShortRunning:
		s.log.long[k.Name()]++
	case s.prepared[k]:
		s.log.brief[k.Name()]++
	default:
		s.log.unprepared[k.Name()]++
	}
	s.log.mu.Unlock()
	return s.Stream.Launch(k, shape, params)
}

// Short calls are launched in the way that takes the least host time, on streams that are prepared
// for their kernels, unless the user sets --pdl on.
func TestBriefLaunches(t *testing.T) {
	allreduce := sideBySide()
	allreduce.Algorithms = []string{"twoshot"}
	barrier := workload.Job{Collective: "barrier", Algorithms: []string{"flag"}, Iterations: 2, Warmup: 1, Verify: true}
	for _, tt := range []struct {
		job    workload.Job
		kernel string
		pdl    string
		bytes  int64
		brief  bool
	}{
		{allreduce, "twoshot_sum_n2", workload.Auto, 4 << 10, true},
		{allreduce, "twoshot_sum_n2", workload.Auto, 64 << 10, true},
		{allreduce, "twoshot_sum_n2", workload.Auto, 128 << 10, false},
		{allreduce, "twoshot_sum_n2", workload.Off, 64 << 10, true},
		{allreduce, "twoshot_sum_n2", workload.On, 4 << 10, false},
		{barrier, "barrier_flag", workload.Auto, 0, true},
		{barrier, "barrier_flag", workload.On, 0, false},
	} {
		for _, rounds := range []int{0, 1} {
			job, kernel := tt.job, tt.kernel
			log := &launches{brief: map[string]int{}, long: map[string]int{}, unprepared: map[string]int{}}
			job.PDL, job.Passes, job.Sizes = tt.pdl, rounds, []int64{tt.bytes}
			(ranks{world: 2, backend: func(int) cudart.Backend {
				return notingBackend{sim.New(2, sim.Options{}), log}
			}}).mustRun(t, job)
			long := log.long[kernel] > 0
			if tt.brief && kernel == "barrier_flag" {
				long = false // ranks meet by it, too, which is no call
			}
			if (log.brief[kernel] > 0) != tt.brief || long == tt.brief || log.unprepared[kernel] > 0 {
				t.Errorf("%s, --pdl %s, %d bytes, %d rounds: %d launches are brief, %d are not, %d brief and unprepared",
					kernel, tt.pdl, tt.bytes, rounds, log.brief[kernel], log.long[kernel], log.unprepared[kernel])
			}
		}
	}
}
