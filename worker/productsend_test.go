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

// All ranks send products in the same way, even if launches block only some ranks: a rank that copies would wait
// forever for a rank that pushes. With three tiles for each multiprocessor, products are otherwise copied.
func TestRanksSendProductsAlike(t *testing.T) {
	t.Parallel()
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
