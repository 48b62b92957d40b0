package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/driver"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// requireGPU returns the backend of GPUs. Without a GPU it skips the test, or fails it if GPURUN_REQUIRE_GPU is 1.
func requireGPU(t *testing.T) cudart.Backend {
	t.Helper()
	gpu := driver.New()
	if _, err := gpu.Devices(); err != nil {
		if os.Getenv("GPURUN_REQUIRE_GPU") == "1" || !errors.Is(err, cudart.ErrNoDevice) {
			t.Fatal(err)
		}
		t.Skip("no GPU:", err)
	}
	return gpu
}

// sideBySide sets variables so that the ranks of a group on one GPU wait for each other only in their kernels. It works
// if the test is the first in the process to use CUDA.
func sideBySide(t *testing.T) {
	t.Helper()
	t.Setenv("CUDA_MODULE_LOADING", "EAGER") // see loadKernels
	// Streams that share a hardware queue run one after the other, and these
	// must run side by side: a queue for each, instead of 8.
	t.Setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32")
}

// The same PTX with the same random inputs gives the same bits on a GPU and in the simulator. All ranks run on one GPU
// at the same time, one algorithm after the other; the simulators of several algorithms share the processors.
func TestGPUAndSimulatorAgreeBitwise(t *testing.T) {
	sideBySide(t)
	gpu := requireGPU(t)
	var turn sync.Mutex // whose kernels the GPU runs
	for _, world := range []int{1, 2, 3, 4, 8} {
		for _, calls := range byAlgorithm(randomCalls(world)) {
			name := fmt.Sprintf("%d/%s/%s", world, calls[0].collective.Name, calls[0].algorithm.Name)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				simulated := randomResults(t, group{world: world}, calls)
				turn.Lock()
				defer turn.Unlock()
				onGPU := randomResults(t, group{world: world, backend: gpu}, calls)
				for i, c := range calls {
					for rank := range world {
						if !bytes.Equal(onGPU[rank][i], simulated[rank][i]) {
							t.Errorf("%s: rank %d: GPU and simulator differ", c, rank)
						}
					}
				}
			})
		}
	}
}

// byAlgorithm cuts calls where the algorithm changes.
func byAlgorithm(calls []testCall) [][]testCall {
	var runs [][]testCall
	for i, c := range calls {
		if i == 0 || c.algorithm != calls[i-1].algorithm {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], c)
	}
	return runs
}

// randomCalls is every algorithm that GPUs without multicast can run, with every type and operation, at sizes with and
// without a tail.
func randomCalls(world int) []testCall {
	var all []testCall
	for _, c := range calls(world, func(a *collective.Algorithm) bool { return !a.Needs.Multicast }) {
		for _, d := range c.algorithm.DTypes() {
			for i, count := range counts {
				for _, op := range c.algorithm.Ops() {
					c.in.Seed, c.in.Pattern, c.in.Op, c.in.DType = uint64(count), reference.Random, op, d
					c.count, c.inPlace = c.fit(count), i%2 == 0 && c.canRunInPlace()
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// randomResults holds the outputs of all calls by rank.
func randomResults(t *testing.T, g group, cases []testCall) [][][]byte {
	t.Helper()
	results := make([][][]byte, g.world)
	g.run(t, func(m *member) error {
		for _, c := range cases {
			got, err := c.run(m)
			if err != nil {
				return fmt.Errorf("on %s: %w", m.device.Info().Backend, err)
			}
			results[m.rank] = append(results[m.rank], bytes.Clone(got))
		}
		return nil
	})
	return results
}
