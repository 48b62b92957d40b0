package worker

import (
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/matmul"
)

// blocking is a device that may say that its launches block.
type blocking struct {
	*sim.Device
	blocks bool
}

func (b blocking) Info() cudart.Info {
	info := b.Device.Info()
	info.LaunchesBlock = b.blocks
	return info
}

// Ranks send products alike, also where launches block some of them only: one that copies would wait for ever for
// one that pushes. There are three tiles for each multiprocessor, so that they would be copied otherwise.
func TestRanksSendProductsAlike(t *testing.T) {
	const world = 2
	for _, o := range matmul.Operations() {
		if !o.Reduces {
			continue
		}
		job := productsJob(o.Name)
		job.Algorithms = []string{"fused"}
		job.Products.M, job.Products.N = []int64{8}, []int64{128 * 5}
		for blocks := range world {
			results := ranks{world: world, backend: func(rank int) cudart.Backend {
				return disguised{
					sim.New(world, sim.Options{}), func(d *sim.Device) cudart.Device { return blocking{d, rank == blocks} },
				}
			}}.mustRun(t, job)
			if len(results) != 1 || wrong(results) != 0 {
				t.Errorf("%s, where launches block rank %d: %+v", o.Name, blocks, results)
			}
		}
	}
}
