package workload

import (
	"testing"

	"gpurun/cudart"
)

func TestSharedGPUs(t *testing.T) {
	h200 := func(uuid string) cudart.Info {
		return cudart.Info{Backend: "cuda", UUID: uuid, Name: "NVIDIA H200", Major: 9, SMs: 132}
	}
	small := h200("GPU-a")
	small.SMs = 4
	simulated := cudart.Info{Backend: "sim", UUID: "GPU-0", Major: 9, SMs: 4}
	for name, c := range map[string]struct {
		devices []cudart.Info
		shared  bool
		sms     int
	}{
		"one":       {[]cudart.Info{h200("GPU-a")}, false, 132},
		"apart":     {[]cudart.Info{h200("GPU-a"), h200("GPU-b")}, false, 132},
		"shared":    {[]cudart.Info{h200("GPU-a"), h200("GPU-b"), h200("GPU-a")}, true, 128},
		"small":     {[]cudart.Info{small, small}, true, 1},
		"unknown":   {[]cudart.Info{h200(""), h200("")}, false, 132},
		"simulated": {[]cudart.Info{simulated, simulated}, false, 4},
	} {
		if got := shareGPUs(c.devices); got != c.shared {
			t.Errorf("%s: shared is %v", name, got)
		}
		if got := (Capabilities{Devices: c.devices}).ProductSMs(); got != c.sms {
			t.Errorf("%s: products use %d multiprocessors, not %d", name, got, c.sms)
		}
		for word, want := range map[string]bool{"": !c.shared, Auto: !c.shared, On: true, Off: false} {
			if got, err := (Job{PDL: word}).UsesPDL(c.devices); got != want || err != nil {
				t.Errorf("%s: --pdl %q is %v, %v", name, word, got, err)
			}
		}
	}
}
