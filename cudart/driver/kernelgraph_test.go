package driver

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"unsafe"

	"gpurun/cudart"
)

//go:embed testdata/sequence.ptx
var sequencePTX []byte

// TestKernelNode compares with the size of CUDA_KERNEL_NODE_PARAMS_v1 in cuda.h.
func TestKernelNode(t *testing.T) {
	if size := unsafe.Sizeof(kernelNode{}); size != 56 {
		t.Errorf("a size of %d, want 56", size)
	}
}

func TestBriefLaunch(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s, other := f.stream(d), f.stream(d)
	m := must[cudart.Module](t)(d.LoadModule("m", []byte("ptx")))
	k, none := must[cudart.Kernel](t)(m.Kernel("sum")), must[cudart.Kernel](t)(m.Kernel("none"))
	f.calls()
	if err := errors.Join(s.Prepare(k), s.Prepare(k), other.Prepare(k), s.Prepare(none)); err != nil {
		t.Fatal(err)
	}
	const (
		graph, makeIt, ready = "cuGraphCreate 0", "cuGraphInstantiateWithFlags 0", "cuGraphUpload"
		noData               = " grid 1,1,1 block 1,1,1 shared 0 params 00000000000000000000000000000000 after 0"
		hex, next            = "30313233343536373839616263646566", "30313233343536373839616263646567"
		set                  = "cuGraphExecKernelNodeSetParams sum grid 7,1,1 block 512,1,1 shared 0 params "
		wide                 = "cuGraphExecKernelNodeSetParams sum grid 9,1,1 block 64,1,1 shared 102400 params "
		launched             = "cuGraphLaunch"
	)
	wantCalls(
		t, f, graph, "cuGraphAddKernelNode sum"+noData, makeIt, ready, // once for each stream
		graph, "cuGraphAddKernelNode sum"+noData, makeIt, ready,
		graph, "cuGraphAddKernelNode none grid 1,1,1 block 1,1,1 shared 0 params none after 0", makeIt, ready,
	)

	short := cudart.Launch{Blocks: 7, Threads: 512, ShortRunning: true, PDL: true}
	wider := cudart.Launch{Blocks: 9, Threads: 64, SharedBytes: 100 << 10, ShortRunning: true}
	launch := func(s *stream, k cudart.Kernel, shape cudart.Launch, params string) {
		t.Helper()
		if err := s.Launch(k, shape, []byte(params)); err != nil {
			t.Error(err)
		}
	}
	launch(s, k, short, "0123456789abcdef")
	launch(s, k, short, "0123456789abcdef") // nothing to tell
	launch(s, k, short, "0123456789abcdeg")
	launch(s, k, wider, "0123456789abcdeg")
	launch(other, k, short, "0123456789abcdeg") // has a graph of its own
	launch(s, none, short, "")
	wantCalls(
		t, f, set+hex, launched,
		launched,
		set+next, launched,
		"cuFuncSetAttribute 8 102400", wide+next, launched,
		set+next, launched,
		"cuGraphExecKernelNodeSetParams none grid 7,1,1 block 512,1,1 shared 0 params none", launched,
	)

	params := []byte("0123456789abcdef")
	checkNoAllocation(t, func() error {
		params[0]++
		return s.Launch(k, short, params)
	})
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if live, want := f.live(), "contexts=1 module=1 stream=1 graph=1 exec=1"; live != want {
		t.Errorf("after one stream was closed there are %q, want %q", live, want)
	}
}

func checkNoAllocation(t *testing.T, launch func() error) {
	t.Helper()
	if n := testing.AllocsPerRun(100, func() {
		if err := launch(); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("a launch allocates %v times", n)
	}
}

// TestBriefLaunchElsewhere has launches that a graph of one kernel cannot stand for.
func TestBriefLaunchElsewhere(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s, unprepared := f.stream(d), f.stream(d)
	m := must[cudart.Module](t)(d.LoadModule("m", []byte("ptx")))
	none := must[cudart.Kernel](t)(m.Kernel("none"))
	if err := s.Prepare(none); err != nil {
		t.Fatal(err)
	}
	f.calls()
	shape := cudart.Launch{Blocks: 4, Threads: 1, ShortRunning: true, PDL: true}
	cluster := cudart.Launch{Blocks: 4, Threads: 1, ShortRunning: true, Cluster: 2}
	long := cudart.Launch{Blocks: 4, Threads: 1}
	if err := errors.Join(s.Launch(none, cluster, nil), s.Launch(none, long, nil),
		unprepared.Launch(none, shape, nil)); err != nil {
		t.Error(err)
	}
	wantCalls(
		t, f, "cuLaunchKernelEx none grid 4,1,1 block 1,1,1 shared 0 cluster 2,1,1 params none",
		"cuLaunchKernel none grid 4,1,1 block 1,1,1 shared 0 params none",
		"cuLaunchKernelEx none grid 4,1,1 block 1,1,1 shared 0 dependent params none",
	)
	must[cudart.Graph](t)(s.Capture(func() error {
		wantCode(t, s.Prepare(none), cudart.ErrCaptureForbidden, "being captured; prepare it before")
		return s.Launch(none, shape, nil)
	}))
	wantCalls(
		t, f, "cuStreamBeginCapture_v2 2",
		"cuLaunchKernelEx none grid 4,1,1 block 1,1,1 shared 0 dependent params none",
		"cuStreamEndCapture", "cuGraphInstantiateWithFlags 0", "cuGraphDestroy",
	)
	wantCode(t, s.Prepare(foreignKernel{}), cudart.ErrInvalidHandle, "another device's")

	urgent := must[cudart.Stream](t)(d.NewStream(cudart.HighPriority))
	f.calls()
	if err := errors.Join(urgent.Prepare(none), urgent.Launch(none, shape, nil)); err != nil {
		t.Error(err)
	}
	wantCalls(t, f, "cuLaunchKernelEx none grid 4,1,1 block 1,1,1 shared 0 dependent params none")
}

// TestUnloadEndsGraphs has a module's graphs go before it, and nobody else's.
func TestUnloadEndsGraphs(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	first, second := must[cudart.Module](t)(d.LoadModule("m", []byte("ptx"))),
		must[cudart.Module](t)(d.LoadModule("n", []byte("ptx")))
	for _, m := range []cudart.Module{first, second} {
		if err := s.Prepare(must[cudart.Kernel](t)(m.Kernel("none"))); err != nil {
			t.Fatal(err)
		}
	}
	f.calls()
	if err := first.Unload(); err != nil {
		t.Error(err)
	}
	wantCalls(t, f, "cuGraphExecDestroy", "cuGraphDestroy", "cuModuleUnload")
	if len(s.kernelGraphs) != 1 {
		t.Errorf("the stream has %d graphs", len(s.kernelGraphs))
	}
}

// TestBriefLaunchFails has failures leave nothing behind, and the launch after one told
// what it is to be.
func TestBriefLaunchFails(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	m := must[cudart.Module](t)(d.LoadModule("m", []byte("ptx")))
	k := must[cudart.Kernel](t)(m.Kernel("sum"))
	for _, call := range []string{
		"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuGraphUpload",
	} {
		f.failNext(call, 2)
		wantCode(t, s.Prepare(k), 2, "making a graph of kernel sum: "+call)
		if live, want := f.live(), "contexts=1 module=1 stream=1"; live != want {
			t.Errorf("after a failed %s there are %q, want %q", call, live, want)
		}
	}
	if err := s.Prepare(k); err != nil {
		t.Fatal(err)
	}
	short, params := cudart.Launch{Blocks: 1, Threads: 1, ShortRunning: true}, []byte("0123456789abcdef")
	f.failNext("cuGraphExecKernelNodeSetParams", 910)
	wantCode(t, s.Launch(k, short, params), 910,
		"launching kernel sum with 1 blocks of 1 threads and 0 bytes of shared memory: cuGraphExecKernelNodeSetParams")
	f.failNext("cuGraphLaunch", 700)
	wantCode(t, s.Launch(k, short, params), 700, "cuGraphLaunch")
	f.calls()
	if err := s.Launch(k, short, params); err != nil {
		t.Error(err)
	}
	wantCalls(t, f, "cuGraphLaunch")
}

// TestGPUBriefLaunch launches one kernel on two streams, with parameters and grids that
// change before earlier launches have run, and beside a capture.
func TestGPUBriefLaunch(t *testing.T) {
	g := openGPU(t)
	const count, calls = 4096, 100
	streams := [2]cudart.Stream{g.stream, must[cudart.Stream](t)(g.dev.NewStream())}
	buffers := [2]cudart.DevicePtr{g.malloc(count), g.malloc(count)}
	add := func(i, count, addend int) error {
		shape := cudart.Launch{Blocks: (count + 255) / 256, Threads: 256, ShortRunning: true}
		return streams[i].Launch(g.add, shape, addParams(buffers[i], buffers[i], count, addend))
	}
	for i := range streams {
		if err := streams[i].Prepare(g.add); err != nil {
			t.Fatal(err)
		}
		if err := streams[i].Upload(buffers[i], words(count, 1, 1)); err != nil {
			t.Fatal(err)
		}
	}
	nothing := cudart.Launch{Blocks: 1, Threads: 32, SharedBytes: 64 << 10, ShortRunning: true}
	if err := g.stream.Launch(g.add, nothing, addParams(0, 0, 0, 0)); err != nil {
		t.Fatal(err)
	}
	graph := must[cudart.Graph](t)(g.stream.Capture(func() error { return add(0, count, 1000) }))
	for call := range calls {
		err := errors.Join(add(0, count, call), add(0, count/2, 0), add(0, count, 1), add(1, count/2, 2), add(1, count/2, 2))
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := graph.Launch(g.stream); err != nil {
		t.Fatal(err)
	}
	g.synchronize()
	g.wantWords(buffers[0], words(count, 1+1000+calls*(calls-1)/2+calls, 1))
	if err := streams[1].Synchronize(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.wantWords(buffers[1], append(words(count/2, 1+4*calls, 1), words(count/2, 1+count/2, 1)...))
}

// TestGPUBriefLaunchesAmongEarlyOnes has launches of both kinds, and ordinary ones, follow
// each other in one stream, of which each needs the result of the one before.
func TestGPUBriefLaunchesAmongEarlyOnes(t *testing.T) {
	g := openGPU(t)
	if g.dev.Info().Major < 9 {
		t.Skip("no launch is early before compute capability 9.0")
	}
	m := must[cudart.Module](t)(g.dev.LoadModule("sequence", sequencePTX))
	k := must[cudart.Kernel](t)(m.Kernel("times_three"))
	if err := g.stream.Prepare(k); err != nil {
		t.Fatal(err)
	}
	word := g.malloc(1)
	if err := g.stream.Upload(word, words(1, 1, 0)); err != nil {
		t.Fatal(err)
	}
	want := uint32(1)
	random := rand.New(rand.NewPCG(1, 2))
	for call := range uint32(300) {
		delay := random.Uint64N(20_000) // ns: the host is ahead of some, and behind others
		params := binary.LittleEndian.AppendUint64(nil, uint64(word))
		params = binary.LittleEndian.AppendUint64(params, delay)
		params = binary.LittleEndian.AppendUint64(params, uint64(call))
		kind := random.IntN(3)
		if err := g.stream.Launch(k, cudart.Launch{Blocks: 1, Threads: 1, ShortRunning: kind == 0, PDL: kind < 2},
			params); err != nil {
			t.Fatal(err)
		}
		want = 3*want + call
	}
	g.synchronize()
	g.wantWords(word, words(1, int(want), 0))
}
