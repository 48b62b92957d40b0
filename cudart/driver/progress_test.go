package driver

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"gpurun/cudart"
)

//go:embed testdata/progress.ptx
var progressPTX []byte

// The kernel of progress.ptx follows copies of so many chunks of so many words.
const (
	progressChunks = 4
	progressWords  = 4 << 20
	progressLimit  = 5 * time.Second
)

// follower is that kernel on a stream, and copies on another one that counts them.
type follower struct {
	*gpu
	kernel                  cudart.Kernel
	copies                  cudart.Stream
	source, in, out, counts cudart.DevicePtr
	report                  cudart.HostBuffer
	forked, joined          cudart.Event
}

func newFollower(t *testing.T) *follower {
	g := openGPU(t)
	m := must[cudart.Module](t)(g.dev.LoadModule("progress", progressPTX))
	const all = progressChunks * progressWords
	return &follower{
		gpu:    g,
		kernel: must[cudart.Kernel](t)(m.Kernel("follow")),
		copies: must[cudart.Stream](t)(g.dev.NewStream(cudart.HighPriority)),
		source: g.malloc(all), in: g.malloc(all), out: g.malloc(all), counts: g.malloc(1),
		report: must[cudart.HostBuffer](t)(g.dev.MallocHost(12)),
		forked: must[cudart.Event](t)(g.dev.NewEvent()), joined: must[cudart.Event](t)(g.dev.NewEvent()),
	}
}

// prepare gives the source new words, and spoils what they will replace.
func (f *follower) prepare(first int) error {
	clear(f.report.Bytes())
	const bytes = 4 * progressChunks * progressWords
	return errors.Join(
		f.stream.Upload(f.source, words(progressChunks*progressWords, first, 3)),
		f.stream.Fill(f.in, 0xee, bytes), f.stream.Fill(f.out, 0xdd, bytes),
	)
}

func (f *follower) launch() error {
	var params []byte
	for _, v := range []uint64{
		uint64(f.in), uint64(f.counts), uint64(f.out), uint64(f.report.DevicePtr()), uint64(progressLimit),
	} {
		params = binary.LittleEndian.AppendUint64(params, v)
	}
	params = binary.LittleEndian.AppendUint32(params, progressWords)
	params = binary.LittleEndian.AppendUint32(params, progressChunks)
	return f.stream.Launch(f.kernel, cudart.Launch{Blocks: 1, Threads: 1024}, params)
}

// copyChunks copies the chunks and counts them.
func (f *follower) copyChunks() error {
	var failures []error
	for c := range progressChunks {
		at := cudart.DevicePtr(4 * c * progressWords)
		failures = append(failures, f.copies.Copy(f.in+at, f.source+at, 4*progressWords),
			f.copies.WriteValue(f.counts, uint32(c+1)))
	}
	return errors.Join(failures...)
}

// value is a word of the kernel's report.
func (f *follower) value(i int) uint32 {
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(&f.report.Bytes()[4*i])))
}

func (f *follower) check(first int) {
	f.t.Helper()
	f.synchronize()
	if lost := f.value(2); lost > 0 {
		f.t.Errorf("the kernel gave up waiting %d times: the copies did not go on beside it", lost)
	}
	got := make([]byte, 4*progressChunks*progressWords)
	if err := f.stream.Download(got, f.out); err != nil {
		f.t.Fatal(err)
	}
	for i := range progressChunks * progressWords {
		if v := binary.LittleEndian.Uint32(got[4*i:]); v != uint32(first+3*i) {
			f.t.Fatalf("word %d is %#x, want %#x", i, v, first+3*i)
		}
	}
}

// TestGPUCopiesBesideAKernel enqueues the copies when the kernel runs already: it
// ends only if they go on beside it.
func TestGPUCopiesBesideAKernel(t *testing.T) {
	f := newFollower(t)
	if err := f.copyChunks(); err != nil { // a first copy may load code, and wait for running kernels
		t.Fatal(err)
	}
	if err := errors.Join(f.copies.Synchronize(t.Context()), f.prepare(7), f.stream.Fill(f.counts, 0, 4)); err != nil {
		t.Fatal(err)
	}
	f.synchronize()
	if err := f.launch(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(progressLimit); f.value(0) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the kernel has not begun")
		}
	}
	if err := f.copyChunks(); err != nil {
		t.Fatal(err)
	}
	f.check(7)
	if seen := f.value(1); seen != 0 {
		t.Errorf("the kernel began when %d chunks had been copied, before their copies were enqueued", seen)
	}
}

// TestGPUCopiesBesideAKernelInAGraph replays kernel and copies as two branches of
// a graph, behind a memset of the word that counts.
func TestGPUCopiesBesideAKernelInAGraph(t *testing.T) {
	f := newFollower(t)
	graph := must[cudart.Graph](t)(f.stream.Capture(func() error {
		return errors.Join(
			f.stream.Fill(f.counts, 0, 4), f.stream.Record(f.forked), f.copies.Wait(f.forked),
			f.copyChunks(), f.copies.Record(f.joined),
			f.launch(), f.stream.Wait(f.joined),
		)
	}))
	const replays = 10
	beside := 0
	for i := range replays {
		if err := errors.Join(f.prepare(100*i), graph.Launch(f.stream)); err != nil {
			t.Fatal(err)
		}
		f.check(100 * i)
		if f.value(1) < progressChunks {
			beside++
		}
	}
	if beside == 0 {
		t.Error("in every replay the copies were done when the kernel began")
	}
	t.Logf("in %d of %d replays the kernel began before the copies had ended", beside, replays)
}

// TestGPUOpenCapture leaves a branch of a capture open, and then joins it.
func TestGPUOpenCapture(t *testing.T) {
	f := newFollower(t)
	branch := func() error {
		return errors.Join(f.stream.Record(f.forked), f.copies.Wait(f.forked), f.copies.Fill(f.counts, 1, 4))
	}
	_, err := f.stream.Capture(branch)
	wantCode(t, err, cudart.ErrCaptureUnjoined, "was not joined back")
	g := must[cudart.Graph](t)(f.stream.Capture(func() error {
		return errors.Join(branch(), f.copies.Record(f.joined), f.stream.Wait(f.joined))
	}))
	if err := errors.Join(g.Launch(f.stream), f.stream.WriteValue(f.counts, 0x04030201)); err != nil {
		t.Fatal(err)
	}
	f.wantWords(f.counts, words(1, 0x04030201, 0))
}
