package products

import (
	"context"
	"fmt"
	"math/rand/v2"

	"gpurun/kernels/reference"
	"gpurun/worker/measure"
	"gpurun/worker/result"
	"gpurun/worker/soak"
	"gpurun/worker/workload"
)

// soakStream sets the random numbers apart from others by the same seed.
const soakStream = 0x736f616b

// In a job of one case, the trials with these numbers are verified before timing and after.
const (
	exactTrial  = 1
	randomTrial = 3
)

// verifyFurther verifies the cases in random order, for as long as the job says. The job's seed decides about the
// order, so that all ranks draw the same.
func (p *run) verifyFurther(ctx context.Context, cases []workload.ProductCase) error {
	if p.job.VerifyFor == 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(p.job.Seed, soakStream))
	return soak.Run(ctx, p.Rank, p.job.VerifyFor, func(number int64) soak.Call {
		c := &candidate{ProductCase: cases[random.IntN(len(cases))]}
		pattern, like := reference.Exact, uint64(exactTrial)
		if random.IntN(2) == 0 {
			pattern, like = reference.Random, randomTrial
		}
		when := fmt.Sprintf("in further call %d (--seed %d -m %d -n %d -k %d repeats it)", number,
			p.job.Seed+p.trials+1-like, c.Problem.M, c.Problem.N, c.Problem.K)
		return soak.Call{
			Verify: func(ctx context.Context) (measure.Measurement, error) {
				if err := p.place(ctx, c); err != nil {
					return c.Measurement, err
				}
				err := p.verify(ctx, c, pattern, when)
				return c.Measurement, err
			},
			Verifying: c.Verifying(p.World),
			Result:    func(wrong []measure.Measurement) result.Result { return p.merge(c.ProductCase, wrong) },
		}
	})
}
