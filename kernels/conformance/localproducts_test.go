package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart/sim"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// An A of few rows has a kernel of its own: of one row, of as many as a tile has; with columns of C beyond a tile, in
// several tiles; with K undivided, and divided into 2, 4 and 8 parts; and with blocks that share A; with and without
// disorder. A C whose rows are not aligned is multiplied otherwise. Other local products have tiles of the width that
// fits, and of a ragged M their rows and columns change places.
func TestLocalProducts(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		m, n, k int64
		sms     int
		module  string
	}{
		{1, 8, 8, 2, "skinny_16"},
		{16, 328, 456, 2, "skinny_16"},
		{15, 136, 64*31 + 8, 132, "skinny_16"},       // K in 8 parts
		{31, 264, 64 * 40, 18, "skinny_32"},          // in 2
		{17, 72, 64 * 33, 9, "skinny_32"},            // in 4
		{64, 264, 64 * 40, 18, "skinny_64"},          // in 2, 4 blocks share A
		{33, 400, 200, 4, "skinny_64"},               // tiles of 56 columns, two on a multiprocessor
		{72, 200, 64 * 40, 4, "skinny_112"},          // of 56, more slices than stages
		{100, 24, 64 * 256, 24, "skinny_112"},        // in 8
		{128, 520, 440, 20, "skinny_128"},            // of 64, the last of 8
		{128, 64, 64 * 20, 2, "skinny_128"},          // in 2
		{150, 64, 64*30 - 8, 8, "skinny_160"},        // in 4
		{190, 128, 64 * 32, 4, "skinny_192"},         // in 2
		{180, 16, 64 * 128, 32, "skinny_192"},        // in 8
		{65, 400, 200, 4, "skinny_tall_128"},         // tiles of 104 columns
		{72, 304, 64 * 3, 4, "skinny_tall_128"},      // of 80
		{127, 376, 64 * 3, 4, "skinny_tall_128"},     // of 96
		{128, 1000, 200, 4, "skinny_tall_128"},       // of 128, two on a multiprocessor, more slices than stages
		{128, 200, 64*33 + 8, 18, "skinny_tall_128"}, // of 24, K in 2 parts, more slices than stages
		{100, 136, 64 * 72, 40, "skinny_tall_128"},   // in 4
		{192, 520, 64*20 - 8, 2, "skinny_tall_192"},  // of 88, one after the other on a multiprocessor
		{130, 8, 64 * 40, 9, "skinny_tall_192"},      // in 4
		{170, 8, 64 * 24, 6, "skinny_tall_192"},      // in 2
		{64, 12, 64, 2, "product_96"},
		{129, 8, 64, 2, "product_96"},
		{129, 100, 64, 2, "product_112"},
		{140, 170, 520, 2, "product_176"},
		{300, 124, 64, 4, "product_128"},  // the last row of tiles is one tile
		{260, 700, 520, 2, "product_176"}, // of four tiles, in two pairs side by side
		{384, 340, 72, 4, "product_96"},
		{128, 300, 72, 4, "product_96"},
		{300, 560, 72, 16, "product_112"}, // of five: the last pair has one
		{384, 264, 72, 4, "product_144"},
		{129, 300, 64, 4, "product_160"},
		{140, 364, 64, 4, "product_192"},
		{129, 400, 72, 4, "product_208"},
		{90, 396, 200, 6, "product_96"},
		{300, 100, 64 * 40, 10, "product_112"},     // pieces of both pairs
		{300, 520, 64, 2, "transposed_160"},        // rows and columns change places
		{300, 1032, 64 * 20, 10, "transposed_160"}, // boxes of 70 columns, copied by both blocks or by one; pieces
		{400, 1032, 64, 4, "transposed_144"},
		{333, 1032, 136, 6, "transposed_176"}, // C is written by TMA, and its last tiles by threads
		{360, 392, 64, 8, "transposed_192"},
		{400, 264, 136, 6, "transposed_208"},
		{440, 520, 64, 10, "transposed_224"},
	} {
		p := matmul.Problem{M: c.m, N: c.n, K: c.k, DType: matmul.DTypes()[i%2]}
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			t.Parallel()
			var calls []matmulCall
			for _, name := range []string{"matmul-allreduce decomposed", "allgather-matmul decomposed"} {
				call := namedCalls([]string{name}, p, 1)[0]
				call.in = product(call.operation, p, 1, reference.Pattern(i%2), uint64(i))
				calls = append(calls, call)
			}
			backend := sim.New(1, sim.Options{Major: 9, Seed: uint64(i % 3)})
			g, loaded := groupFor(1, backend, calls), []string{}
			g.source = func(module string) ([]byte, error) {
				loaded = append(loaded, module)
				return catalog(module)
			}
			g.run(t, func(m *member) error {
				r, err := newRunner(m)
				if err != nil {
					return err
				}
				r.SMs = c.sms
				return runMatmuls(m, r, calls)
			})
			want := func(name string) bool { return strings.Contains(name, "_"+c.module+"_") }
			if !slices.ContainsFunc(loaded, want) {
				t.Errorf("multiplied by one of %q, not by %s", loaded, c.module)
			}
		})
	}
}
