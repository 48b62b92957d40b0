package nvshmem

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"gpurun/cudart"
)

// The test's binary is a rank where these are set: a process can be in one job
// only.
const (
	roleVariable = "GPURUN_TEST_NVSHMEM_RANK"
	pathVariable = "GPURUN_TEST_NVSHMEM_LIB"
	idVariable   = "GPURUN_TEST_NVSHMEM_ID"
)

// More ranks than cores, a root that is not the default, a stream that has to
// arrive whole, and a count that is a multiple of nothing and takes the
// stand-in several pieces.
const (
	world  = 3
	root   = 2
	stream = 0x7fedcba987654321
	count  = 300007
)

// value is element i of what a rank sends.
func value(rank, i int) int32 { return int32(i%7 + 1000*rank) }

// sum is element i of the sum of all ranks' sends.
func sum(i int) int32 {
	var s int32
	for r := range world {
		s += value(r, i)
	}
	return s
}

func rankCommand(path string, id [128]byte, rank int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+strconv.Itoa(rank), pathVariable+"="+path,
		idVariable+"="+hex.EncodeToString(id[:]), fmt.Sprintf("FAKE_NVSHMEM_STREAM=%#x", uint64(stream)))
	return cmd
}

func TestJob(t *testing.T) {
	l := open(t)
	id, err := l.NewUniqueID()
	if err != nil {
		t.Fatal(err)
	}
	ranks := make([]*exec.Cmd, world)
	outputs := make([]strings.Builder, world)
	for r := range ranks {
		ranks[r] = rankCommand(l.Path(), id, r)
		ranks[r].Stderr = &outputs[r]
		if err := ranks[r].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for r, cmd := range ranks {
		if err := cmd.Wait(); err != nil || outputs[r].Len() > 0 {
			t.Errorf("rank %d: %v\n%s", r, err, &outputs[r])
		}
	}
}

// A rank that misses another ends as the library ends processes: by exit(-1).
func TestFatalEndsTheProcess(t *testing.T) {
	t.Setenv("FAKE_WAIT_MS", "50")
	l := open(t)
	id, err := l.NewUniqueID()
	if err != nil {
		t.Fatal(err)
	}
	output, err := rankCommand(l.Path(), id, 0).CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 255 || !strings.Contains(string(output), "a PE did not come") {
		t.Errorf("got %v, %s", err, output)
	}
}

// playRole is a rank's process. It returns its exit code.
func playRole() int {
	runtime.LockOSThread()
	if err := rankProcess(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func rankProcess() error {
	rank, err := strconv.Atoi(os.Getenv(roleVariable))
	if err != nil {
		return err
	}
	var id [128]byte
	if _, err := hex.Decode(id[:], []byte(os.Getenv(idVariable))); err != nil {
		return err
	}
	l, err := Open(os.Getenv(pathVariable))
	if err != nil {
		return err
	}
	if err := l.Init(rank, world, id, rank); err != nil {
		return err
	}
	const bytes = 4 * world * count
	src, err := l.Malloc(bytes)
	if err != nil {
		return err
	}
	dst, err := l.Malloc(bytes)
	if err != nil {
		return err
	}
	err = errors.Join(reachPeers(l, rank, dst), collectives(l, rank, dst, src))
	return errors.Join(err, l.Free(dst), l.Free(src), l.Finalize())
}

// reachPeers writes into every peer's memory, and looks who wrote into its own.
func reachPeers(l *Library, rank int, ptr cudart.DevicePtr) error {
	for pe := range world {
		peer := l.Ptr(ptr, pe)
		if peer == 0 || pe == rank && peer != ptr {
			return fmt.Errorf("rank %d is at %#x", pe, peer)
		}
		words(peer, world)[rank] = int32(100*rank + pe)
	}
	if err := l.BarrierOnStream(stream); err != nil {
		return err
	}
	for pe, got := range words(ptr, world) {
		if want := int32(100*pe + rank); got != want {
			return fmt.Errorf("rank %d wrote %d, not %d", pe, got, want)
		}
	}
	return l.BarrierOnStream(stream)
}

// collectives runs all of them as one rank, and checks every element.
func collectives(l *Library, rank int, to, from cudart.DevicePtr) error {
	send, recv := words(from, world*count), words(to, world*count)
	for i := range send {
		send[i] = value(rank, i)
	}
	untouched := func(int) int32 { return 0 }
	for _, step := range []struct {
		name    string
		enqueue func() error
		parts   int // that are received
		want    func(i int) int32
	}{
		{
			"allreduce", func() error { return l.AllReduce(to, from, count, Int32, Sum, stream) },
			1, sum,
		},
		{
			"reducescatter", func() error { return l.ReduceScatter(to, from, count, Int32, Sum, stream) },
			1, func(i int) int32 { return sum(rank*count + i) },
		},
		{
			"allgather", func() error { return l.AllGather(to, from, count, Int32, stream) },
			world, func(i int) int32 { return value(i/count, i%count) },
		},
		{
			"broadcast", func() error { return l.Broadcast(to, from, count, Int32, root, stream) },
			1, func(i int) int32 { return value(root, i) },
		},
		{
			// By bytes, of which each int32 has four.
			"alltoall", func() error { return l.AllToAll(to, from, 4*count, Float8e4m3, stream) },
			world, func(i int) int32 { return value(i/count, rank*count+i%count) },
		},
	} {
		clear(recv)
		// Peers may write as soon as they like.
		if err := errors.Join(l.BarrierOnStream(stream), step.enqueue()); err != nil {
			return err
		}
		if err := errors.Join(
			each(recv[:step.parts*count], step.want),
			each(recv[step.parts*count:], untouched),
		); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return nil
}

func each(got []int32, want func(i int) int32) error {
	for i, g := range got {
		if g != want(i) {
			return fmt.Errorf("element %d is %d, not %d", i, g, want(i))
		}
	}
	return nil
}
