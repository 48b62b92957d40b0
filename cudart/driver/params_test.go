package driver

import (
	"strings"
	"testing"

	"gpurun/cudart"
)

// The second parameter of the kernel "apart" is aligned to 128 bytes: it is at 112 in the compiled kernel, and at 128
// in a C struct.
func TestParamsAreWhereTheyArePlaced(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	m := must[cudart.Module](t)(d.LoadModule("m", []byte("ptx")))
	k := must[cudart.Kernel](t)(m.Kernel("apart"))
	shape := cudart.Launch{Blocks: 1, Threads: 32}
	params := make([]byte, 136)
	copy(params, "01234567")
	copy(params[128:], "89abcdef")
	wantCode(t, s.Launch(k, shape, params), cudart.ErrInvalidValue, "136 bytes of parameters where the kernel takes 120")

	placer := k.(cudart.ParamPlacer)
	wantCode(t, placer.PlaceParams([]int{0}), cudart.ErrInvalidValue, "kernel apart has 2 parameters, not 1")
	if err := placer.PlaceParams([]int{0, 128}); err != nil {
		t.Fatal(err)
	}
	f.calls()
	if err := s.Launch(k, shape, params); err != nil {
		t.Fatal(err)
	}
	const want = "30313233343536373839616263646566"
	if calls := strings.Join(f.calls(), " "); !strings.Contains(calls, want) {
		t.Errorf("the driver got no parameters %s: %s", want, calls)
	}
	wantCode(t, s.Launch(k, shape, params[:120]), cudart.ErrInvalidValue,
		"120 bytes of parameters where the kernel takes 136")
}
