package mutants

import (
	"fmt"

	"gpurun/cudart/sim/check"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/ptx"
)

// localProducts lists kernels of local products. K is divided in a cluster where A has few rows, which are columns of
// the multiplication, or its rows. Each block has more slices of K than stages.
func localProducts() (all []*subject, err error) {
	for _, c := range []struct {
		module  string
		m, n, k int64
		sms     int
	}{
		{"skinny_16", 15, 8, 64 * 40, 2},
		{"skinny_tall_128", 100, 8, 64 * 32, 6},
		{"skinny_tall_192", 170, 8, 64 * 24, 6},
	} {
		s, err := localSubject("skinny", fmt.Sprintf("matmul_%s_half_sm_90a", c.module), c.sms,
			matmul.Problem{M: c.m, N: c.n, K: c.k, DType: collective.Half})
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func localSubject(entry, module string, sms int, p matmul.Problem) (*subject, error) {
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
		name: "local product", world: 1, major: 9, sms: sms, module: module, entry: entry, text: text,
		task: func(text []byte) (func(*check.Rank) error, error) {
			mutated := calls
			mutated.Source = replaced(module, text)
			return mutated.Task, nil
		},
	}, nil
}
