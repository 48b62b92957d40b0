package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cudart"
	"gpurun/cudart/sim"
)

func TestRanksOnGPUs(t *testing.T) {
	for _, c := range []struct {
		name  string
		ask   settings.Processes
		share bool
		gpus  int
		ranks int
		code  int
		text  string
	}{
		{"one per GPU", settings.Processes{}, false, 4, 4, exit.OK, ""},
		{"auto", settings.Processes{Word: "auto"}, false, 4, 4, exit.OK, ""},
		{"fewer", settings.Processes{Number: 2}, false, 4, 2, exit.OK, ""},
		{
			"too many",
			settings.Processes{Number: 8},
			false, 4, 0, exit.Environment,
			"8 ranks cannot have a GPU each: this machine has 4 GPUs",
		},
		{
			"too many for one",
			settings.Processes{Number: 2},
			false, 1, 0, exit.Environment,
			"2 ranks cannot have a GPU each: this machine has 1 GPU;",
		},
		{"shared", settings.Processes{Number: 8}, true, 4, 8, exit.OK, ""},
		{"more than kernels take", settings.Processes{Number: 73}, true, 4, 0, exit.Usage, "73 is more than the 72 ranks"},
		{"by CPUs", settings.Processes{Word: "cpu"}, false, 4, 0, exit.Usage, "give a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := onGPUMachine(settings.Config{NProcPerNode: c.ask, Oversubscribe: c.share}, make([]cudart.Info, c.gpus))
			if code := exit.Code(err); code != c.code {
				t.Fatalf("exit code %d for %v, want %d", code, err, c.code)
			}
			if err != nil {
				if !strings.Contains(err.Error(), c.text) {
					t.Fatalf("%v, want %q", err, c.text)
				}
				return
			}
			if m.Ranks != c.ranks {
				t.Errorf("%d ranks, want %d", m.Ranks, c.ranks)
			}
			for rank := range m.Ranks {
				if got := m.Ordinal(rank); got != rank%c.gpus {
					t.Errorf("rank %d has GPU %d, want %d", rank, got, rank%c.gpus)
				}
			}
		})
	}
}

func TestRanksInTheSimulator(t *testing.T) {
	for ask, want := range map[settings.Processes]int{{}: 8, {Word: "auto"}: 8, {Number: 3}: 3} {
		m, err := Find(settings.Config{Device: "sim", NProcPerNode: ask}, nil)
		if err != nil || m.Ranks != want || m.Backend != "sim" || m.Ordinal(2) != 2 {
			t.Errorf("%v: %+v, %v; want %d ranks", ask, m, err, want)
		}
	}
	if _, err := Find(settings.Config{Device: "sim", NProcPerNode: settings.Processes{Word: "gpu"}},
		nil); exit.Code(err) != exit.Environment {
		t.Errorf("a rank per GPU in the simulator: %v, want an environment error", err)
	}
}

func TestDisorderIsTheSimulators(t *testing.T) {
	if _, err := onGPUMachine(settings.Config{SimSeed: 1}, make([]cudart.Info, 2)); exit.Code(err) != exit.Usage {
		t.Errorf("error %v, want one of usage", err)
	}
	if m, err := simulated(settings.Config{SimSeed: 1}, ""); err != nil || m.SM != 100 || m.SMs < 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

// The words of the settings are those of the simulator.
func TestSettingsKnowTheSimulator(t *testing.T) {
	if !slices.Equal(settings.SimArches(), sim.Arches()) || settings.DefaultSimArch != sim.DefaultArch {
		t.Errorf("settings have %v, the simulator %v", settings.SimArches(), sim.Arches())
	}
	if !slices.Equal([]string{settings.HardwareMemory, settings.PTXMemory}, sim.MemoryModels()) {
		t.Errorf("the simulator has %v", sim.MemoryModels())
	}
	for _, name := range settings.SimArches() {
		m, err := simulated(settings.Config{SimArch: name}, "")
		if err != nil || fmt.Sprintf("%d.%d", m.SM/10, m.SM%10) != name {
			t.Errorf("--sim-arch %s: %+v, %v", name, m, err)
		}
	}
	for _, c := range []settings.Config{{SimArch: "9.0"}, {SimMemory: "ptx"}, {SimSeed: 1}} {
		if _, err := onGPUMachine(c, make([]cudart.Info, 2)); exit.Code(err) != exit.Usage {
			t.Errorf("%+v on GPUs: %v, want an error of usage", c, err)
		}
	}
}
