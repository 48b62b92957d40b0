package result

import "fmt"

// Product is the part of a result that only products of matrices have. The operands have
// M x K and K x N elements; for an A that is gathered, M and K count those of all ranks.
type Product struct {
	M int64 `json:"m"`
	N int64 `json:"n"`
	K int64 `json:"k"`
	// Splits is how many chunks a rank's shard is copied in.
	Splits int `json:"splits_per_rank"`
	// TFLOPS is the rate of each rank's multiplications and additions, 2 M N K of them,
	// in 1e12 a second, by the median.
	TFLOPS float64 `json:"tflops"`
	// Error is the Frobenius norm of the error divided by that of the result, on the worst
	// rank, for random inputs. Limit bounds Error. nil: not verified, or not a number.
	Error *float64 `json:"relative_error,omitempty"`
	Limit *float64 `json:"error_limit,omitempty"`
}

// String reads "4096 x 6656 x 16384".
func (p Product) String() string { return fmt.Sprintf("%d x %d x %d", p.M, p.N, p.K) }

// Label reads "auto (fused)/4": what the user asked for, the algorithm, and the splits
// where there are several.
func (p Product) Label(r Result) string {
	name := r.Algorithm
	if r.Asked != "" {
		name = fmt.Sprintf("%s (%s)", r.Asked, r.Algorithm)
	}
	if p.Splits > 1 {
		name += fmt.Sprintf("/%d", p.Splits)
	}
	return name
}
