package matmul

import (
	"fmt"

	"gpurun/kernels/collective"
)

// Problem is the size of a product: of M x K and K x N elements.
type Problem struct {
	M, N, K int64
	DType   collective.DType
}

// DTypes lists the element types that products are made of. They are accumulated
// in fp32.
func DTypes() []collective.DType { return []collective.DType{collective.Half, collective.BFloat16} }

// Bounds of the sizes: with them, addresses of elements stay far below 2^63, and sums of small integers are exact in
// fp32.
const (
	maxRows = 1 << 24
	maxK    = 1 << 20
)

// vecElements is the number of elements that K must be a multiple of: 16 bytes, which cp.async, TMA and vectors move at
// once.
const vecElements = 8

// check says which size is out of range, or returns nil.
func (p Problem) check() error {
	for _, x := range []struct {
		name        string
		value, most int64
	}{{"M", p.M, maxRows}, {"N", p.N, maxRows}, {"K", p.K, maxK}} {
		if x.value < 1 || x.value > x.most {
			return fmt.Errorf("%s of %d is not between 1 and %d", x.name, x.value, x.most)
		}
	}
	if over := p.K % vecElements; over != 0 {
		return fmt.Errorf("a K of %d is no multiple of %d: rows must be whole units of 16 bytes; pad them with zeros to %d",
			p.K, vecElements, p.K+vecElements-over)
	}
	return nil
}

// Flops is the number of floating-point operations: a multiplication and an
// addition for each product of elements.
func (p Problem) Flops() int64 { return 2 * p.M * p.N * p.K }

// String reads "4096 x 6656 x 16384 bfloat16".
func (p Problem) String() string {
	return fmt.Sprintf("%d x %d x %d %s", p.M, p.N, p.K, p.DType.Name)
}

// Buffers are the sizes of a rank's matrices, in bytes; 0 is none.
type Buffers struct {
	A, AFull, B, C int64
}

// tiles is how many tiles cover a side of a matrix.
func tiles(side, tile int64) int64 { return (side + tile - 1) / tile }

// rowsOfShard is how many of m rows each shard has; the last may have fewer.
func rowsOfShard(m int64, shards int) int64 { return tiles(m, int64(shards)) }
