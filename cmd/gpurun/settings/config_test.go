package settings

import (
	"testing"

	"gpurun/cmd/gpurun/flags/flagtest"
	"gpurun/configs"
)

// TestSimulatorProfile checks that the simulator's defaults give way to flags.
func TestSimulatorProfile(t *testing.T) {
	s, err := Load(flagtest.Collective(t, "allreduce", "-n", "7"), configs.Simulator)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read(s)
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxBytes != 1<<20 || c.WarmupIters != 1 || c.Iters != 7 {
		t.Errorf("maxbytes %d, warmup-iters %d, iters %d; want 1M, 1, 7", c.MaxBytes, c.WarmupIters, c.Iters)
	}
}
