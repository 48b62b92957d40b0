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

// Copies that come behind the kernel which waits for them are refused where launches block: auto
// does without.
func TestCopiesBehindLaunchesThatBlock(t *testing.T) {
	h200 := cudart.Info{Name: "NVIDIA H200", Major: 9}
	blocks := h200
	blocks.LaunchesBlock = true
	problem := matmul.Problem{M: 64, N: 64, K: 64, DType: collective.BFloat16}
	for _, o := range matmul.Operations() {
		for _, tt := range []struct {
			name    string
			devices []cudart.Info
			refused bool
		}{
			{"fused_copy", []cudart.Info{h200, h200}, false},
			{"fused_copy", []cudart.Info{h200, blocks}, true},
			{"fused_push", []cudart.Info{h200, blocks}, false},
			{"fused", []cudart.Info{h200, blocks}, false},
		} {
			if _, ok := o.Algorithm(tt.name); !ok {
				continue
			}
			s := surroundings{devices: tt.devices}
			asked := productCase{operation: o, problem: problem, asked: tt.name}
			if err := s.chooseProduct(&asked); isMachines(err) != tt.refused {
				t.Errorf("%s %s on %v: %v, want it refused: %t", o.Name, tt.name, tt.devices, err, tt.refused)
			}
		}
	}
}
