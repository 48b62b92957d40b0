package driver

import (
	"errors"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/dl"
)

// Occupancy is that of a multiprocessor, and depends on the dynamic shared memory.
func TestResidentBlocks(t *testing.T) {
	f := newFake(t)
	d := f.open()
	m := must[cudart.Module](t)(d.LoadModule("m", []byte("ptx")))
	k := must[cudart.Kernel](t)(m.Kernel("sum"))
	for shape, want := range map[cudart.Launch]int{
		{Blocks: 1, Threads: 512}: 4, {Blocks: 1, Threads: 128, SharedBytes: 50 << 10}: 2,
	} {
		got, err := k.(cudart.Occupier).ResidentBlocks(shape)
		if sms := k.(*kernel).dev.info.SMs; err != nil || got != want*sms {
			t.Errorf("%+v: %d blocks on %d multiprocessors, %v", shape, got, sms, err)
		}
	}
}

func TestModules(t *testing.T) {
	f := newFake(t)
	d := f.open()
	// Not terminated by NUL, which the driver would read past.
	text := []byte("valid PTX|broken")[:9:9]
	m := must[cudart.Module](t)(d.LoadModule("allreduce", text))
	wantCalls(t, f, "cuModuleLoadDataEx 9 2")

	_, err := d.LoadModule("allreduce", []byte("broken"))
	wantCode(t, err, cudart.ErrInvalidPTX,
		"loading module allreduce: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): line 3: broken")
	f.failNext("cuModuleLoadDataEx", cudart.ErrUnsupportedPTX)
	_, err = d.LoadModule("allreduce", text)
	wantCode(t, err, cudart.ErrUnsupportedPTX, "update the NVIDIA driver")

	_, err = m.Kernel("missing")
	wantCode(t, err, cudart.ErrNotFound, "finding kernel missing in module allreduce")
	if at, size, err := m.Global("table"); at != 0x7000 || size != 24 || err != nil {
		t.Errorf("a variable is at %#x with %d bytes, %v; want 0x7000 with 24", at, size, err)
	}
	_, _, err = m.Global("missing")
	wantCode(t, err, cudart.ErrNotFound, "finding variable missing in module allreduce")
	if err := m.Unload(); err != nil {
		t.Error(err)
	}
}

func TestLaunch(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	m := must[cudart.Module](t)(d.LoadModule("m", []byte("ptx")))
	k, none := must[cudart.Kernel](t)(m.Kernel("sum")), must[cudart.Kernel](t)(m.Kernel("none"))
	f.calls()
	params := []byte("0123456789abcdef")
	launch := func(k cudart.Kernel, shared int, params []byte) {
		t.Helper()
		if err := s.Launch(k, cudart.Launch{Blocks: 7, Threads: 512, SharedBytes: shared}, params); err != nil {
			t.Error(err)
		}
	}
	const hex = "30313233343536373839616263646566"
	launch(k, 0, params)
	launch(none, 0, nil)
	launch(k, 47<<10, params)  // with 1 KB of static memory, just what is granted unasked
	launch(k, 100<<10, params) // asks once
	launch(k, 100<<10, params)
	wantCalls(
		t, f, "cuLaunchKernel sum grid 7,1,1 block 512,1,1 shared 0 params "+hex,
		"cuLaunchKernel none grid 7,1,1 block 512,1,1 shared 0 params none",
		"cuLaunchKernel sum grid 7,1,1 block 512,1,1 shared 48128 params "+hex,
		"cuFuncSetAttribute 8 102400",
		"cuLaunchKernel sum grid 7,1,1 block 512,1,1 shared 102400 params "+hex,
		"cuLaunchKernel sum grid 7,1,1 block 512,1,1 shared 102400 params "+hex,
	)
	if n := testing.AllocsPerRun(100, func() { launch(k, 0, params) }); n != 0 {
		t.Errorf("a launch allocates %v times", n)
	}
}

func TestDependentLaunch(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	m := must[cudart.Module](t)(d.LoadModule("m", []byte("ptx")))
	k, none := must[cudart.Kernel](t)(m.Kernel("sum")), must[cudart.Kernel](t)(m.Kernel("none"))
	f.calls()
	params := []byte("0123456789abcdef")
	launch := func(k cudart.Kernel, shape cudart.Launch, params []byte) {
		t.Helper()
		if err := s.Launch(k, shape, params); err != nil {
			t.Error(err)
		}
	}
	dependent := cudart.Launch{Blocks: 7, Threads: 512, SharedBytes: 1 << 10, PDL: true}
	large := cudart.Launch{Blocks: 1, Threads: 32, SharedBytes: 100 << 10, PDL: true}
	launch(k, dependent, params)
	launch(none, dependent, nil)
	launch(k, large, params)
	launch(k, cudart.Launch{Blocks: 3, Threads: 64}, params) // the next launch is an ordinary one again
	const hex = "30313233343536373839616263646566"
	wantCalls(
		t, f, "cuLaunchKernelEx sum grid 7,1,1 block 512,1,1 shared 1024 dependent params "+hex,
		"cuLaunchKernelEx none grid 7,1,1 block 512,1,1 shared 1024 dependent params none",
		"cuFuncSetAttribute 8 102400",
		"cuLaunchKernelEx sum grid 1,1,1 block 32,1,1 shared 102400 dependent params "+hex,
		"cuLaunchKernel sum grid 3,1,1 block 64,1,1 shared 0 params "+hex,
	)
	if n := testing.AllocsPerRun(100, func() { launch(k, dependent, params) }); n != 0 {
		t.Errorf("a launch allocates %v times", n)
	}
	f.failNext("cuLaunchKernelEx", 701)
	wantCode(t, s.Launch(k, dependent, params), 701, "launching kernel sum with 7 blocks of 512 threads")
}

func TestClusterLaunch(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	m := must[cudart.Module](t)(d.LoadModule("m", []byte("ptx")))
	none := must[cudart.Kernel](t)(m.Kernel("none"))
	f.calls()
	launch := func(shape cudart.Launch) error { return s.Launch(none, shape, nil) }
	for _, shape := range []cudart.Launch{
		{Blocks: 6, Threads: 128, Cluster: 2},
		{Blocks: 16, Threads: 128, Cluster: 8, PDL: true},
		{Blocks: 7, Threads: 128, PDL: true},
		{Blocks: 7, Threads: 128, Cluster: 1},
	} {
		if err := launch(shape); err != nil {
			t.Errorf("%+v: %v", shape, err)
		}
	}
	wantCalls(
		t, f, "cuLaunchKernelEx none grid 6,1,1 block 128,1,1 shared 0 cluster 2,1,1 params none",
		"cuLaunchKernelEx none grid 16,1,1 block 128,1,1 shared 0 cluster 8,1,1 dependent params none",
		"cuLaunchKernelEx none grid 7,1,1 block 128,1,1 shared 0 dependent params none",
		"cuLaunchKernelEx none grid 7,1,1 block 128,1,1 shared 0 cluster 1,1,1 params none",
	)
	wantCode(t, launch(cudart.Launch{Blocks: 7, Threads: 1, Cluster: 2}), cudart.ErrInvalidValue,
		"7 blocks do not make whole clusters of 2")
	wantCode(t, launch(cudart.Launch{Blocks: 16, Threads: 1, Cluster: 16}), cudart.ErrInvalidValue, "1 to 8 are possible")
	wantCode(t, launch(cudart.Launch{Blocks: 16, Threads: 1, Cluster: -1}), cudart.ErrInvalidValue,
		"cannot have -1 blocks")
	if calls := f.calls(); calls != nil {
		t.Errorf("called %q", calls)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := launch(cudart.Launch{Blocks: 2, Threads: 1, Cluster: 2}); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("a launch allocates %v times", n)
	}
}

func TestExtendedLaunchNeedsDeviceAndDriver(t *testing.T) {
	f := newFake(t)
	dependent, cluster := cudart.Launch{Blocks: 2, Threads: 1, PDL: true}, cudart.Launch{Blocks: 2, Threads: 1, Cluster: 2}
	for name, test := range map[string]struct {
		shape cudart.Launch
		major int
		hide  bool // cuLaunchKernelEx
		want  string
	}{
		"dependent, old GPU":    {dependent, 8, false, "needs compute capability 9.0, and NVIDIA Fake has 8.0"},
		"dependent, old driver": {dependent, 9, true, "programmatic dependent launch needs a driver for CUDA 11.8"},
		"cluster, old GPU":      {cluster, 8, false, "clusters need compute capability 9.0, and NVIDIA Fake has 8.0"},
		"cluster, old driver":   {cluster, 9, true, "a launch in clusters needs a driver for CUDA 11.8"},
	} {
		f.call("fake_reset")
		f.call("fake_compute", uintptr(test.major))
		d := must[cudart.Device](t)(f.backend().Open(0)).(*device)
		if test.hide {
			d.api.launchKernelEx = dl.Func{}
		}
		m := must[cudart.Module](t)(d.LoadModule("m", []byte("ptx")))
		k := must[cudart.Kernel](t)(m.Kernel("none"))
		s := f.stream(d)
		t.Log(name)
		wantCode(t, s.Launch(k, test.shape, nil), cudart.ErrNotSupported, test.want)
		if calls := f.calls(); calls != nil {
			t.Errorf("called %q", calls)
		}
		if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1}, nil); err != nil {
			t.Errorf("an ordinary launch: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

type foreignKernel struct{}

func (foreignKernel) Name() string { return "foreign" }

func TestLaunchRefuses(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	m := must[cudart.Module](t)(d.LoadModule("m", []byte(".entry large( .param .align 8 .b8 large_param_0[720] )")))
	k, large := must[cudart.Kernel](t)(m.Kernel("sum")), must[cudart.Kernel](t)(m.Kernel("large"))
	f.calls()
	shape := cudart.Launch{Blocks: 1, Threads: 32}
	for name, test := range map[string]struct {
		kernel cudart.Kernel
		shape  cudart.Launch
		params int
		code   cudart.Result
		want   string
	}{
		"foreign kernel": {foreignKernel{}, shape, 16, cudart.ErrInvalidHandle, "another device's"},
		"no kernel":      {nil, shape, 16, cudart.ErrInvalidHandle, "another device's"},
		"no blocks":      {k, cudart.Launch{Threads: 32}, 16, cudart.ErrInvalidValue, "a grid cannot have 0 blocks"},
		"negative shared": {
			k, cudart.Launch{Blocks: 1, Threads: 1, SharedBytes: -1}, 16, cudart.ErrInvalidValue, "cannot have -1 bytes",
		},
		"short params":   {k, shape, 8, cudart.ErrInvalidValue, "8 bytes of parameters where the kernel takes 16"},
		"half of params": {large, shape, 360, cudart.ErrInvalidValue, "360 bytes of parameters where the kernel takes 720"},
		"huge params":    {k, shape, 40000, cudart.ErrInvalidValue, "more than 32764"},
		"too much shared": {
			k,
			cudart.Launch{Blocks: 1, Threads: 1, SharedBytes: 1 << 20},
			16, cudart.ErrInvalidValue,
			"asking for 1048576 bytes of dynamic shared memory per block, of which 231424 are possible beside 1024 of static",
		},
	} {
		// Not a subtest: that would run on another thread, without the context.
		err := s.Launch(test.kernel, test.shape, make([]byte, test.params))
		if !errors.Is(err, test.code) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %v and %q", name, err, test.code, test.want)
		}
		if calls := strings.Join(f.calls(), " "); strings.Contains(calls, "cuLaunchKernel") {
			t.Errorf("%s: launched: %s", name, calls)
		}
	}
	if err := s.Launch(large, shape, make([]byte, 720)); err != nil {
		t.Error(err)
	}
	f.failNext("cuLaunchKernel", 701)
	wantCode(t, s.Launch(k, shape, make([]byte, 16)), 701, "launching kernel sum with 1 blocks of 32 threads")
}

// TestOtherThreadsHaveNoContext shows what the lock on the thread is for.
// TestCloseReleasesEverything leaves one of each behind.
