package sim

import (
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
		{"9.1", "sm_90", Options{}, cudart.ErrUnsupportedPTX},
		{"8.0", "sm_90", Options{Major: 8, Minor: 9}, cudart.ErrNoBinaryForGPU},
		{"8.6", "sm_100a", Options{Major: 9}, cudart.ErrNoBinaryForGPU},
		{"8.8", "sm_103a", Options{}, cudart.ErrNoBinaryForGPU},
		{"8.8", "sm_100f", Options{}, cudart.ErrNoBinaryForGPU},
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
