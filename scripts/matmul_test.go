package scripts

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/result"
)

// product is a result of a product of m rows.
func product(algorithm, asked string, m int64, us float64) result.Result {
	r := one(algorithm, asked, 0, false, us)
	r.Collective, r.Mode = "allgather-matmul", "stream"
	r.Product = &result.Product{M: m, N: 3584, K: 8192, Splits: 1}
	return r
}

const wantProducts = `### allgather-matmul, 2 ranks, us

| M | N, K | gpurun auto | gpurun cublas | gpurun decomposed | gpurun fused | of cuBLAS |
|---|---|---|---|---|---|---|
| 1024 | 3584, 8192 | 131 | 100 | 130 | 160 | 1.310 |
| 2048 | 3584, 8192 | 222 | 200 | 250 | 220 | 1.110 |

`

// What auto took has a column of its own, in every row, beside that of the algorithm by name.
func TestTableOfProducts(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "gpurun.json"), ours(
		product("decomposed", "auto", 1024, 131), product("decomposed", "", 1024, 130), product("fused", "", 1024, 160),
		product("cublas", "", 1024, 100),
		product("fused", "auto", 2048, 222), product("decomposed", "", 2048, 250), product("fused", "", 2048, 220),
		product("cublas", "", 2048, 200),
	))
	got, err := python(t, "matmul-table.py", path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(wantProducts), strings.TrimSpace(got)); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
}
