package sim

import (
	"encoding/binary"
	"fmt"
	"testing"

	"gpurun/cudart"
)

// PTX loads where the device is as capable as its target, and is new enough.
func TestTargets(t *testing.T) {
	for _, tt := range []struct {
		version, target string
		device          Options
		want            cudart.Result
	}{
		{"7.8", "sm_80", Options{}, cudart.Success},
		{"7.8", "sm_80", Options{Major: 8}, cudart.Success},
		{"8.6", "sm_100", Options{}, cudart.Success},
		{"8.3", "sm_90a", Options{}, cudart.Success},
		{"8.6", "sm_100a", Options{}, cudart.Success},
		{"9.0", "sm_90", Options{Major: 9}, cudart.Success},
		{"9.2", "sm_90", Options{}, cudart.Success},
		{"9.3", "sm_90", Options{}, cudart.ErrUnsupportedPTX},
		{"8.0", "sm_90", Options{Major: 8, Minor: 9}, cudart.ErrNoBinaryForGPU},
		{"8.6", "sm_100a", Options{Major: 9}, cudart.ErrNoBinaryForGPU},
		{"8.8", "sm_103a", Options{}, cudart.ErrNoBinaryForGPU},
		{"8.8", "sm_100f", Options{}, cudart.Success},
		{"8.8", "sm_80a", Options{}, cudart.ErrNoBinaryForGPU},
		{"8.8", "sm_90af", Options{}, cudart.ErrInvalidPTX},
	} {
		d := openWith(t, tt.device)
		text := fmt.Sprintf(".version %s\n.target %s\n.address_size 64\n.entry k { ret; }", tt.version, tt.target)
		_, err := d.LoadModule("target.ptx", []byte(text))
		if tt.want == cudart.Success && err != nil || tt.want != cudart.Success && !isResult(err, tt.want) {
			t.Errorf("PTX %s for %s on %+v: %v, want %v", tt.version, tt.target, tt.device, err, tt.want)
		}
	}
}

// functionsPTX has a kernel that writes two pointers to twice, and what a call through the second returns for 21.
const functionsPTX = `.version 8.0
.target sm_80
.address_size 64
.func (.reg .b32 %r) twice(.reg .b32 %a) { add.u32 %r, %a, %a; ret; }
.global .u64 pointer = twice;
.entry k(.param .u64 out) {
	.reg .b64 %out, %f;
	.reg .b32 %n;
	ld.param.u64 %out, [out];
	mov.u64 %f, twice;
	st.global.u64 [%out], %f;
	ld.global.u64 %f, [pointer];
	st.global.u64 [%out+8], %f;
	prototype: .callprototype (.reg .b32 _) _ (.reg .b32 _);
	call (%n), %f, (21), prototype;
	st.global.u32 [%out+16], %n;
	ret;
}`

// A module has the same pointer to a function everywhere, and another one than each other module, of the same text too.
func TestFunctionsOfModulesHaveTheirOwnAddresses(t *testing.T) {
	d := openWith(t, Options{})
	seen := map[uint64]bool{}
	for range 3 {
		out := runMatrices(t, d, functionsPTX, cudart.Launch{Blocks: 1, Threads: 1}, make([]byte, 24))
		f := binary.LittleEndian.Uint64(out)
		if g, result := binary.LittleEndian.Uint64(out[8:]), binary.LittleEndian.Uint32(out[16:]); g != f || result != 42 {
			t.Errorf("the pointers are %#x and %#x, and the call gives %d; want the same, and 42", f, g, result)
		}
		if seen[f] {
			t.Errorf("two modules have a function at %#x", f)
		}
		seen[f] = true
	}
}
