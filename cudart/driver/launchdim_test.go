package driver

import (
	"testing"

	"gpurun/cudart"
)

func TestLaunchInThreeDimensions(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	m := must[cudart.Module](t)(d.LoadModule("m", []byte("ptx")))
	k := must[cudart.Kernel](t)(m.Kernel("two"))
	if err := s.Prepare(k); err != nil {
		t.Fatal(err)
	}
	f.calls()
	shape := cudart.Launch{GridDim: cudart.Dim3{X: 6, Y: 4, Z: 2}, BlockDim: cudart.Dim3{X: 8, Y: 4}}
	short, cluster, cooperative := shape, shape, shape
	short.ShortRunning = true
	cluster.ClusterDim, cluster.PDL = cudart.Dim3{X: 2, Y: 2}, true
	cooperative.Cooperative, cooperative.ShortRunning = true, true
	params := []byte("0123456789abcdef") // two of 8 bytes
	for _, l := range []cudart.Launch{shape, short, cluster, cooperative} {
		if err := s.Launch(k, l, params); err != nil {
			t.Error(err)
		}
	}
	const sizes, hex = " two grid 6,4,2 block 8,4,1 shared 0", " params 30313233343536373839616263646566"
	wantCalls(
		t, f, "cuLaunchKernel"+sizes+hex,
		"cuGraphExecKernelNodeSetParams"+sizes+hex,
		"cuGraphLaunch",
		"cuLaunchKernelEx"+sizes+" cluster 2,2,1 dependent"+hex,
		"cuLaunchKernelEx"+sizes+" cooperative"+hex,
	)
	wantCode(t, s.Launch(k, shape, params[:8]), cudart.ErrInvalidValue, "8 bytes of parameters where the kernel takes 16")
	if n := testing.AllocsPerRun(100, func() { _ = s.Launch(k, cluster, params) }); n != 0 {
		t.Errorf("a launch allocates %v times", n)
	}
}
