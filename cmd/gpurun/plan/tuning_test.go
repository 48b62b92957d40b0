package plan

import (
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/tuning"
)

// The built-in tables say something else for calls that normalize rows, for long rows
// something else than for short ones, and for small calls with a root.
func TestBuiltInTuning(t *testing.T) {
	tables, err := builtInTuning()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		collective string
		epilogue   collective.EpilogueKind
		hidden     int64
		world      int
		bytes      int64
		want       string
	}{
		{"allreduce", collective.NoEpilogue, 0, 2, 256 << 10, "oneshot_lamport"},
		{"allreduce", collective.Bias, 4096, 2, 256 << 10, "oneshot_lamport"},
		{"allreduce", collective.RMSNorm, 4096, 2, 64 << 10, "oneshot_lamport"},
		{"allreduce", collective.RMSNorm, 4096, 2, 128 << 10, "oneshot_lamport"},
		{"allreduce", collective.RMSNorm, 4096, 2, 8 << 20, "oneshot"},
		{"allreduce", collective.RMSNorm, 8192, 2, 64 << 10, "oneshot_lamport"},
		{"allreduce", collective.RMSNorm, 8192, 2, 128 << 10, "oneshot_lamport"},
		{"allreduce", collective.RMSNorm, 8192, 2, 256 << 10, "oneshot_lamport"},
		{"allreduce", collective.RMSNorm, 8192, 2, 16 << 20, "oneshot"},
		{"allreduce", collective.RMSNorm, 8192, 4, 128 << 10, "oneshot_lamport"},
		{"allreduce", collective.RMSNorm, 4096, 2, 16 << 20, "oneshot"},
		{"allreduce", collective.RMSNorm, 4096, 4, 8 << 10, "oneshot_lamport"},
		{"allreduce", collective.RMSNorm, 4096, 4, 64 << 10, "oneshot_lamport"},
		{"allreduce", collective.RMSNorm, 8192, 4, 64 << 10, "oneshot_lamport"},
		{"allreduce", collective.RMSNorm, 4096, 4, 64 << 20, "twoshot_lamport"},
		{"allreduce", collective.NoEpilogue, 0, 4, 64 << 20, "twoshot_push"},
		{"broadcast", collective.NoEpilogue, 0, 2, 256 << 10, "lamport"},
		{"broadcast", collective.NoEpilogue, 0, 2, 1 << 20, "lamport"},
		{"broadcast", collective.NoEpilogue, 0, 4, 64 << 10, "lamport"},
		{"reduce", collective.NoEpilogue, 0, 2, 1 << 20, "oneshot_lamport"},
		{"reduce", collective.NoEpilogue, 0, 2, 4 << 20, "oneshot_lamport"},
		{"reduce", collective.NoEpilogue, 0, 2, 64 << 20, "p2p"},
		{"reduce", collective.NoEpilogue, 0, 4, 256 << 20, "chain"},
	} {
		q := tuning.Query{
			GPU: "NVIDIA H200", SM: 90, Collective: c.collective, World: c.world, Epilogue: c.epilogue, Hidden: c.hidden,
			Bytes: c.bytes,
			Able:  func(string) bool { return true },
		}
		if got, ok := tables.Choose(q); !ok || got.Algorithm != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestTuningOfTheSimulator: the simulator goes by its own table, whatever its architecture and number of ranks, and no
// GPU goes by it, not even one of the same compute capability.
func TestTuningOfTheSimulator(t *testing.T) {
	tables, err := builtInTuning()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range kernels.Collectives() {
		for _, world := range []int{2, 3, 4, 8} {
			for _, sm := range []int{80, 90, 100} {
				for _, gpu := range []string{cudart.SimulatorName, "NVIDIA H100", "NVIDIA B200"} {
					q := tuning.Query{
						GPU: gpu, SM: sm, Collective: c.Name, World: world, Bytes: 64 << 10,
						Able: func(string) bool { return true },
					}
					choice, ok := tables.Choose(q)
					own := strings.HasPrefix(choice.Reason, "measured best on "+cudart.SimulatorName)
					if !ok || own != (gpu == cudart.SimulatorName) {
						t.Errorf("%s, compute capability %d, %s, %d ranks: %+v", gpu, sm, c.Name, world, choice)
					}
				}
			}
		}
	}
}

// TestBuiltInTables checks that no model has two tables.
func TestBuiltInTables(t *testing.T) {
	tables, err := builtInTuning()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, table := range tables {
		if seen[table.GPU] || len(table.Rules) == 0 {
			t.Errorf("%s has two tables, or one without rules", table.GPU)
		}
		seen[table.GPU] = true
	}
	if len(seen) == 0 {
		t.Error("there is none")
	}
}

// TestUnmeasuredRulesAreEstimates: chain was measured on four H200s, and not on four H100s.
func TestUnmeasuredRulesAreEstimates(t *testing.T) {
	tables, err := builtInTuning()
	if err != nil {
		t.Fatal(err)
	}
	for gpu, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "estimated for ", "NVIDIA H200": "measured best on ",
	} {
		for _, name := range []string{"broadcast", "reduce"} {
			choice, ok := tables.Choose(tuning.Query{
				GPU: gpu, SM: 90, Collective: name, World: 4, Bytes: 256 << 20, Able: func(string) bool { return true },
			})
			if !ok || choice.Algorithm != "chain" || !strings.HasPrefix(choice.Reason, want+gpu) {
				t.Errorf("%s, %s: %+v; want chain, %s", gpu, name, choice, want)
			}
		}
	}
}
