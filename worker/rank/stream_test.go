package rank

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
	"gpurun/worker/library"
	"gpurun/worker/peers"
	"gpurun/worker/process/report"
	"gpurun/worker/status"
)

var errBroken = errors.New("broken")

// slowStream takes the next stamp at every wait but does not get to the end;
// after so many waits it fails.
type slowStream struct {
	cudart.Stream
	events Events
	waits  int
}

func (s *slowStream) Synchronize(ctx context.Context) error {
	if s.waits--; s.waits == 0 {
		return errBroken
	}
	for _, e := range s.events {
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
func newRank(t *testing.T, s cudart.Stream) (*Rank, *bytes.Buffer, cudart.DevicePtr) {
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
	r := &Rank{
		Status: status.New(report.NewWriter(nopCloser{&out}), nil), Libraries: library.New(library.Options{}),
		Peers: &peers.Peers{}, Device: d, Stream: s, Comm: comm,
	}
	if err := r.Status.Announce("timing"); err != nil {
		t.Fatal(err)
	}
	return r, &out, cudart.DevicePtr(comm.Params(collective.Call{}).Fault)
}

// failedLibrary is a library with an asynchronous error.
type failedLibrary struct{ library.Library }

func (failedLibrary) Title() string { return "NCCL 2.99.1" }
func (failedLibrary) Err() error    { return errors.New("ncclRemoteError") }

// A worker reports while its stream proceeds from event to event, and not when the stream hangs.
func TestTimingReportsThatItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := make(Events, 2*status.KeepAliveInterval/pollInterval)
		for i := range all {
			all[i] = &stamp{}
		}
		r, out, _ := newRank(t, &slowStream{events: all, waits: 100})
		if err := r.Finish(context.Background(), Work{}, all); !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
		if got := strings.Count(out.String(), "timing"); got != 3 {
			t.Errorf("the phase was reported %d times, want 3", got)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errBroken)
		r.Stream = &slowStream{waits: 100}
		if err := r.Finish(ctx, Work{}, all); !errors.Is(err, errBroken) {
			t.Errorf("the cause of the end became %v", err)
		}
	})
}

// After a wait in a kernel has timed out, the rank does not wait for the rest of the stream.
func TestTimingEndsWhenAKernelGaveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, fault := newRank(t, &slowStream{waits: 100})
		record := []uint32{1, 0, uint32(collective.StageBarrier), 3}
		bits := unsafe.Slice((*byte)(unsafe.Pointer(&record[0])), 4*len(record))
		s, err := r.Device.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Upload(fault, bits); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var expired *collective.TimeoutError
		if err := r.Finish(context.Background(), Work{}, nil); !errors.As(err, &expired) || expired.Peer != 3 {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > 2*pollInterval {
			t.Errorf("it took %v", took)
		}
	})
}

// An asynchronous error of a library ends the wait for the library, and is not reported as a hang.
func TestTimingEndsWhenALibraryFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, _ := newRank(t, &slowStream{waits: 100})
		r.Libraries = library.New(library.Options{Open: map[string]library.Open{
			"nccl": func(string) (library.Library, error) { return failedLibrary{}, nil },
		}})
		r.Libraries.Open([]string{"nccl"}, "")
		began := time.Now()
		err := r.Finish(context.Background(), Work{Library: "nccl"}, nil)
		var failed *library.Error
		if !errors.As(err, &failed) || err.Error() != "NCCL 2.99.1: ncclRemoteError" {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took > 2*pollInterval {
			t.Errorf("it took %v", took)
		}
	})
}
