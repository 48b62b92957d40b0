package nccl

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"gpurun/cudart"

	"gpurun/cudart/dl/dltest"
)

func TestMain(m *testing.M) {
	if os.Getenv(rankVariable) != "" {
		os.Exit(playRank())
	}
	goleak.VerifyTestMain(m)
}

// compile builds the stand-in for NCCL and returns its path. The flags choose
// its version, as in -DVERSION=22105.
func compile(t testing.TB, flags ...string) string {
	t.Helper()
	return dltest.Build(t, "libnccl.so.2", "testdata/fakenccl.c", flags...)
}

func open(t testing.TB, flags ...string) *Library {
	t.Helper()
	l, err := Open(compile(t, flags...))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// together initializes world ranks, each a thread of its own, and calls rank on
// each, and closes.
func together(t testing.TB, l *Library, world int, rank func(c *Comm, rank int) error) {
	t.Helper()
	id, err := l.NewUniqueID()
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, world)
	var group sync.WaitGroup
	for r := range world {
		group.Go(func() { errs[r] = live(l, r, world, id, rank) })
	}
	group.Wait()
	for r, err := range errs {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// live is the life of one rank.
func live(l *Library, rank, world int, id UniqueID, work func(c *Comm, rank int) error) error {
	c, err := l.Init(rank, world, id)
	if err != nil {
		return err
	}
	if err := work(c, rank); err != nil {
		return fmt.Errorf("%w (and aborting: %v)", err, c.Abort())
	}
	return c.Close()
}

// pinned is where the stand-in, whose device memory is the host's, finds a
// slice.
func pinned[T any](pins *runtime.Pinner, s []T) cudart.DevicePtr {
	pins.Pin(&s[0])
	return cudart.DevicePtr(uintptr(unsafe.Pointer(&s[0])))
}
