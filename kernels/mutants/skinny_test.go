package mutants

import (
	"fmt"

	"gpurun/cudart/sim/check"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/ptx"
)

// skinny lists the kernels of local products with an A of few rows. K is divided in a cluster, and each block has more
// slices of it than stages. The rows of A are columns of the multiplication, or its rows.
func skinny() (all []*subject, err error) {
	for _, c := range []struct {
		rows    int // of the module
		m, n, k int64
		sms     int
	}{
		{16, 15, 8, 64 * 40, 2},
		{128, 128, 8, 64 * 28, 2},
	} {
		s, err := skinnySubject(fmt.Sprintf("matmul_skinny_%d_half_sm_90a", c.rows), c.sms,
			matmul.Problem{M: c.m, N: c.n, K: c.k, DType: collective.Half})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func skinnySubject(module string, sms int, p matmul.Problem) (*subject, error) {
	text, err := ptx.Source(module)
	if err != nil {
		return nil, err
	}
	o, ok := matmul.Find("matmul-allreduce")
	if !ok {
		return nil, fmt.Errorf("there is no matmul-allreduce")
	}
	a, ok := o.Algorithm("decomposed")
	if !ok {
		return nil, fmt.Errorf("there is no decomposed %s", o.Name)
	}
	calls := checktask.Products{
		Operation: o, Algorithm: a, Problems: []matmul.Problem{p}, Launches: productCalls, PDL: true,
	}
	return &subject{
		name: "local product", world: 1, major: 9, sms: sms, module: module, entry: "skinny", text: text,
		task: func(text []byte) (func(*check.Rank) error, error) {
			mutated := calls
			mutated.Source = replaced(module, text)
			return mutated.Task, nil
		},
	}, nil
}
