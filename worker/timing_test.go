package worker

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/worker/process/report"
	"gpurun/worker/workload"
)

var errBroken = errors.New("broken")

// slowStream takes the next stamp at every wait but does not get to the end;
// after so many waits it fails.
type slowStream struct {
	cudart.Stream
	stamps stamps
	waits  int
}

func (s *slowStream) Synchronize(ctx context.Context) error {
	if s.waits--; s.waits == 0 {
		return errBroken
	}
	for _, e := range s.stamps {
		if stamp := e.(*stamp); !stamp.taken {
			stamp.taken = true
			break
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

type stamp struct {
	cudart.Event
	taken bool
}

func (s *stamp) Since(cudart.Event) (time.Duration, error) {
	if !s.taken {
		return 0, cudart.ErrNotReady
	}
	return time.Second, nil
}

type nopCloser struct{ *bytes.Buffer }

func (nopCloser) Close() error { return nil }

// newRank is a rank that is timing, and what it reports.
func newRank(t *testing.T, s cudart.Stream) (*rank, *bytes.Buffer, cudart.DevicePtr) {
	t.Helper()
	d, err := sim.New(1, sim.Options{}).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	base, err := d.Malloc(collective.SignalPadBytes)
	if err != nil {
		t.Fatal(err)
	}
	comm, err := collective.New(collective.Config{Device: d, Peers: []cudart.DevicePtr{base}, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	r := &rank{Options: Options{Reports: report.NewWriter(nopCloser{&out})}, device: d, stream: s, comm: comm}
	if err := r.phase("timing"); err != nil {
		t.Fatal(err)
	}
	return r, &out, cudart.DevicePtr(r.comm.Params(collective.Call{}).Fault)
}

// A worker is heard of while the stream gets from stamp to stamp, and not when
// it is stuck.
func TestTimingReportsThatItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := make(stamps, 2*aliveEvery/lookEvery)
		for i := range all {
			all[i] = &stamp{}
		}
		r, out, _ := newRank(t, &slowStream{stamps: all, waits: 100})
		if err := r.finish(context.Background(), workload.Case{}, all); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if got := strings.Count(out.String(), "timing"); got != 3 {
			t.Errorf("the phase was reported %d times, want 3", got)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errBroken)
		r.stream = &slowStream{waits: 100}
		if err := r.finish(ctx, workload.Case{}, all); !errors.Is(err, errBroken) {
			t.Errorf("the cause of the end became %v", err)
		}
	})
}

// Once a kernel has given up, what is left on the stream is not waited for.
func TestTimingEndsWhenAKernelGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, fault := newRank(t, &slowStream{waits: 100})
		record := []uint32{1, 0, uint32(collective.StageBarrier), 3}
		bits := unsafe.Slice((*byte)(unsafe.Pointer(&record[0])), 4*len(record))
		s, err := r.device.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Upload(fault, bits); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var expired *collective.TimeoutError
		if err := r.finish(context.Background(), workload.Case{}, nil); !errors.As(err, &expired) || expired.Peer != 3 {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > 2*lookEvery {
			t.Errorf("it took %v", took)
		}
	})
}

// What goes wrong in a library behind our back ends the wait for it, and is no hang.
func TestTimingEndsWhenALibraryFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, _ := newRank(t, &slowStream{waits: 100})
		r.Job.Timeout = time.Hour
		r.libraries = map[string]Library{"nccl": &fakeNCCL{title: "NCCL 2.99.1", hidden: errors.New("ncclRemoteError")}}
		c := workload.Case{Algorithm: &collective.Algorithm{Needs: collective.Needs{Library: "nccl"}}}
		for name, wait := range map[string]func() error{
			"timing":    func() error { return r.finish(context.Background(), c, nil) },
			"verifying": func() error { return r.settle(context.Background(), c) },
		} {
			began := time.Now()
			err := wait()
			if f := Explain(err); f.Class != report.Environment || f.Message != "NCCL 2.99.1: ncclRemoteError" {
				t.Errorf("%s: %s of %q", name, f.Class, f.Message)
			}
			if took := time.Since(began); took > 2*lookEvery {
				t.Errorf("%s took %v", name, took)
			}
		}
	})
}
