package driver

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/cudart/symm"
)

// ranks are two ranks in one process with a GPU of the stand-in each. Every rank
// has a thread of its own, as it has a process in earnest.
type ranks struct {
	t        *testing.T
	fake     *fake
	hub      *hub
	work     [2]chan func(*device) error
	done     [2]chan error
	memories [2]*symm.Memory
}

func (f *fake) ranks(t *testing.T) *ranks {
	t.Helper()
	r := &ranks{t: t, fake: f, hub: &hub{rounds: map[string]*round{}}}
	for rank := range r.work {
		r.work[rank], r.done[rank] = make(chan func(*device) error), make(chan error)
		go func() {
			d, err := f.backend().Open(rank)
			r.done[rank] <- err
			if err != nil {
				return
			}
			for do := range r.work[rank] {
				r.done[rank] <- do(d.(*device))
			}
			r.done[rank] <- d.Close()
		}()
	}
	if err := r.wait(); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *ranks) wait() error { return errors.Join(<-r.done[0], <-r.done[1]) }

// each has both ranks do something at the same time.
func (r *ranks) each(do func(rank int, d *device) error) [2]error {
	for rank, work := range r.work {
		work <- func(d *device) error { return do(rank, d) }
	}
	return [2]error{<-r.done[0], <-r.done[1]}
}

func (r *ranks) allocate(o symm.Options, atRound func(rank int, name string)) [2]error {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	return r.each(func(rank int, d *device) (err error) {
		r.memories[rank], err = symm.Allocate(ctx, d, member{r.hub, rank, atRound}, 5000, o)
		return err
	})
}

// free frees what allocate returned.
func (r *ranks) free() error {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	errs := r.each(func(rank int, _ *device) error { return r.memories[rank].Free(ctx) })
	return errors.Join(errs[:]...)
}

func (r *ranks) close() error {
	close(r.work[0])
	close(r.work[1])
	return r.wait()
}

// hub gathers what the two ranks send.
type hub struct {
	mu     sync.Mutex
	rounds map[string]*round
}

type round struct {
	sent [2]any
	full chan struct{} // closed by the second rank
}

func (h *hub) gather(ctx context.Context, name string, rank int, mine any) ([2]any, error) {
	h.mu.Lock()
	r, second := h.rounds[name]
	if !second {
		r = &round{full: make(chan struct{})}
		h.rounds[name] = r
	}
	r.sent[rank] = mine
	if second {
		delete(h.rounds, name)
		close(r.full)
	}
	h.mu.Unlock()
	select {
	case <-r.full:
		return r.sent, nil
	case <-ctx.Done():
		return r.sent, ctx.Err()
	}
}

// member is a rank's symm.Exchange. It is told of every round.
type member struct {
	hub     *hub
	rank    int
	atRound func(rank int, name string)
}

func (m member) Rank() int      { return m.rank }
func (m member) WorldSize() int { return 2 }

func (m member) AllGather(ctx context.Context, name string, mine []byte) ([][]byte, error) {
	if m.atRound != nil {
		m.atRound(m.rank, name)
	}
	sent, err := m.hub.gather(ctx, name, m.rank, mine)
	if err != nil {
		return nil, err
	}
	return [][]byte{sent[0].([]byte), sent[1].([]byte)}, nil
}

func (m member) AllGatherFiles(ctx context.Context, name string, mine *os.File) ([]*os.File, error) {
	number, err := unix.FcntlInt(mine.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	sent, err := m.hub.gather(ctx, name, m.rank, os.NewFile(uintptr(number), "copy"))
	if err != nil {
		return nil, err
	}
	files := make([]*os.File, 2)
	files[1-m.rank] = sent[1-m.rank].(*os.File)
	return files, nil
}

// openFiles counts the descriptors of this process that lead to something.
func openFiles(t *testing.T, to string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.Contains(target, to) {
			n++
		}
	}
	return n
}

// settledFiles counts the open files once they are as many as wanted, or after a second. Go's runtime, and goroutines
// that end, open and close files of their own.
func settledFiles(t *testing.T, want int) int {
	t.Helper()
	now := openFiles(t, "")
	for deadline := time.Now().Add(time.Second); now != want && time.Now().Before(deadline); now = openFiles(t, "") {
		time.Sleep(time.Millisecond)
	}
	return now
}
