package worker

import (
	"testing"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
)

// Ranks whose devices take different kernels do not count each other's tiles: auto
// takes what works all the same, and what does not is refused by name.
func TestProductsOnDifferentDevices(t *testing.T) {
	a100 := cudart.Info{Name: "NVIDIA A100", Major: 8}
	h200 := cudart.Info{Name: "NVIDIA H200", Major: 9}
	b200 := cudart.Info{Name: "NVIDIA B200", Major: 10}
	problem := matmul.Problem{M: 64, N: 64, K: 64, DType: collective.BFloat16}
	for _, o := range matmul.Operations() {
		for _, tt := range []struct {
			devices []cudart.Info
			alike   bool
		}{
			{[]cudart.Info{h200, h200}, true},
			{[]cudart.Info{a100, b200}, true}, // the same kernel
			{[]cudart.Info{h200, h200, a100}, false},
			{[]cudart.Info{b200, h200}, false},
		} {
			s := surroundings{devices: tt.devices}
			want := "fused"
			if o.Reduces && !tt.alike {
				want = "decomposed"
			}
			auto := productCase{operation: o, problem: problem, asked: auto}
			if err := s.chooseProduct(&auto); err != nil || auto.algorithm.Name != want {
				t.Errorf("%s on %v: %v, error %v, want %s", o.Name, tt.devices, auto.algorithm, err, want)
			}
			fused := productCase{operation: o, problem: problem, asked: "fused"}
			if err := s.chooseProduct(&fused); isMachines(err) != (want != "fused") {
				t.Errorf("%s fused on %v: %v", o.Name, tt.devices, err)
			}
		}
	}
}
