package allreduce

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/driver"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// The same PTX with the same random input gives the same bits on a GPU and in
// the simulator. All ranks run on one GPU, side by side.
func TestGPUAndSimulatorAgreeBitwise(t *testing.T) {
	t.Setenv("CUDA_MODULE_LOADING", "EAGER") // see loadKernels
	// Streams that share a hardware queue run one after the other, and these
	// must run side by side: a queue for each, instead of 8.
	t.Setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32")
	gpu := driver.New()
	if _, err := gpu.Devices(); err != nil {
		if os.Getenv("GPURUN_REQUIRE_GPU") == "1" || !errors.Is(err, cudart.ErrNoDevice) {
			t.Fatal(err)
		}
		t.Skip("no GPU:", err)
	}
	for _, world := range []int{1, 2, 3, 4, 8} {
		onGPU, simulated := randomResults(t, gpu, world), randomResults(t, sim.New(1, sim.Options{}), world)
		for i, s := range randomSetups(world) {
			for rank := range world {
				if !bytes.Equal(onGPU[rank][i], simulated[rank][i]) {
					t.Errorf("%s: rank %d: GPU and simulator differ", s, rank)
				}
			}
		}
	}
}

// randomSetups is every algorithm and type, at sizes with and without a tail.
func randomSetups(world int) []setup {
	var all []setup
	for _, a := range Collective().Algorithms {
		for _, d := range collective.DTypes() {
			for i, count := range counts {
				for _, op := range collective.Ops() {
					in := reference.Input{Seed: uint64(count), Pattern: reference.Random, Op: op, DType: d, World: world}
					all = append(all, setup{algorithm: a, in: in, count: count, inPlace: i%2 == 0})
				}
			}
		}
	}
	return all
}

// randomResults holds the outputs of all setups by rank.
func randomResults(t *testing.T, b cudart.Backend, world int) [][][]byte {
	t.Helper()
	results := make([][][]byte, world)
	runGroupOn(t, b, world, patience, func(m *member) error {
		for _, s := range randomSetups(world) {
			got, err := s.run(m)
			if err != nil {
				return fmt.Errorf("on %s: %w", b.Name(), err)
			}
			results[m.rank] = append(results[m.rank], bytes.Clone(got))
		}
		return nil
	})
	return results
}
