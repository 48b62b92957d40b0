package workload

import (
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
)

// Ranks whose devices take different kernels do not count each other's tiles: auto
// takes what works all the same, and what does not is refused by name.
func TestProductsOnDifferentDevices(t *testing.T) {
	a100 := cudart.Info{Name: "NVIDIA A100", Major: 8, SMs: 108}
	h200 := cudart.Info{Name: "NVIDIA H200", Major: 9, SMs: 132}
	b200 := cudart.Info{Name: "NVIDIA B200", Major: 10, SMs: 148}
	problem := matmul.Problem{M: 6144, N: 6144, K: 64, DType: collective.BFloat16} // in many rounds
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
			s := Capabilities{Devices: tt.devices}
			want, why := "fused", "an estimate"
			if o.Reduces && !tt.alike {
				want, why = "decomposed", "the last of the list that can do it: "+o.Name+
					" fused cannot run: it has different kernels"
			}
			auto := ProductCase{Operation: o, Problem: problem, Requested: Auto}
			if err := s.chooseProduct(&auto); err != nil || auto.Algorithm.Name != want || !strings.HasPrefix(auto.Why, why) {
				t.Errorf("%s on %v: %v, error %v, want %s: %s", o.Name, tt.devices, auto.Algorithm, err, want, auto.Why)
			}
			fused := ProductCase{Operation: o, Problem: problem, Requested: "fused"}
			if err := s.chooseProduct(&fused); isUnavailable(err) != (want != "fused") {
				t.Errorf("%s fused on %v: %v", o.Name, tt.devices, err)
			}
		}
	}
}

// "auto" uses the lowest number of multiprocessors among the devices, as the kernels do.
func TestAutomaticProductGoesByLeastDevice(t *testing.T) {
	whole := cudart.Info{Name: "NVIDIA H200", Major: 9, SMs: 132}
	part := whole
	part.SMs = 60
	gather, _ := matmul.Find("allgather-matmul")
	for _, tt := range []struct {
		devices []cudart.Info
		want    string
	}{
		{[]cudart.Info{whole, whole}, "decomposed"},
		{[]cudart.Info{whole, part}, "fused"},
		{[]cudart.Info{whole}, "fused"},
	} {
		s := Capabilities{Devices: tt.devices}
		q := ProductCase{
			Operation: gather, Problem: matmul.Problem{M: 1024, N: 3584, K: 8192, DType: collective.BFloat16}, Requested: Auto,
		}
		if err := s.chooseProduct(&q); err != nil || q.Algorithm.Name != tt.want {
			t.Errorf("%v: %v, error %v, want %s", tt.devices, q.Algorithm, err, tt.want)
		}
	}
}

// If the estimated fastest algorithm cannot run, "auto" is the last one that can, and Why gives the reason.
func TestAutomaticProductFallsBack(t *testing.T) {
	h200 := cudart.Info{Name: "NVIDIA H200", Major: 9, SMs: 132}
	gather, _ := matmul.Find("allgather-matmul")
	s := Capabilities{Devices: []cudart.Info{h200, h200}, NoPeerAccess: "rank 0's GPU cannot reach rank 1's"}
	q := ProductCase{
		Operation: gather, Problem: matmul.Problem{M: 1024, N: 3584, K: 8192, DType: collective.BFloat16}, Requested: Auto,
	}
	if err := s.chooseProduct(&q); err != nil || q.Algorithm.Name != "naive" ||
		!strings.Contains(q.Why, "decomposed cannot run: "+s.NoPeerAccess) {
		t.Errorf("%s: %v, error %v: %s", s.NoPeerAccess, q.Algorithm, err, q.Why)
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
			s := Capabilities{Devices: tt.devices}
			asked := ProductCase{Operation: o, Problem: problem, Requested: tt.name}
			if err := s.chooseProduct(&asked); isUnavailable(err) != tt.refused {
				t.Errorf("%s %s on %v: %v, want it refused: %t", o.Name, tt.name, tt.devices, err, tt.refused)
			}
		}
	}
}
