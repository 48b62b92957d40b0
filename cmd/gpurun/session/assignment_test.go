package session

import (
	"reflect"
	"strings"
	"testing"

	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cudart"
	"gpurun/cudart/sim"
)

// TestOptionsReachTheSimulator follows --sim-seed, --sim-arch and --sim-memory to the backend of a worker.
func TestOptionsReachTheSimulator(t *testing.T) {
	p := &Run{
		Config: settings.Config{SimSeed: 7, SimArch: "8.6", SimMemory: "ptx"}, Host: host.Host{Backend: "sim", Ranks: 1},
	}
	variables, err := p.assign(&meeting{target: "target"})
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(variables[0], "=")
	t.Setenv(name, value)
	part, err := takeAssignment()
	if err != nil {
		t.Fatal(err)
	}
	got, err := host.Open(part.Backend, part.WorldSize, part.Sim)
	if err != nil || !reflect.DeepEqual(got,
		cudart.Backend(sim.New(1, sim.Options{Seed: 7, Major: 8, Minor: 6, Memory: sim.PTXMemory}))) {
		t.Errorf("%+v, %v", got, err)
	}
}
