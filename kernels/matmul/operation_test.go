package matmul

import (
	"strings"
	"testing"

	"gpurun/kernels/collective"
)

// Sizes that the ranks cannot divide are refused. The error names sizes that they can divide.
func TestCheckOfProblems(t *testing.T) {
	for _, tt := range []struct {
		operation string
		m, n, k   int64
		world     int
		want      string // of the error; empty is none
	}{
		{"allgather-matmul", 4096, 6656, 16384, 4, ""},
		{"allgather-matmul", 10, 1, 8, 4, "M of 10 is no multiple of 4, and every rank has as many rows: take 8 or 12"},
		{"matmul-reducescatter", 3, 1, 8, 4, "every rank has as many rows: take 4"},
		{"matmul-allreduce", 3, 1, 8, 4, ""},
		{
			"matmul-allreduce", 3, 1, 12, 4,
			"a K of 12 is no multiple of 8: rows must be whole units of 16 bytes; pad them with zeros to 16",
		},
		{"matmul-allreduce", 0, 1, 8, 4, "M of 0 is not between 1 and 16777216"},
		{"matmul-allreduce", 1, -1, 8, 4, "N of -1 is not between 1 and 16777216"},
		{"matmul-allreduce", 1, 1, 1<<20 + 8, 4, "K of 1048584 is not between 1 and 1048576"},
	} {
		o, ok := Find(tt.operation)
		if !ok {
			t.Fatalf("there is no %s", tt.operation)
		}
		err := o.Check(Problem{M: tt.m, N: tt.n, K: tt.k, DType: collective.Half}, tt.world)
		if tt.want == "" && err == nil {
			continue
		}
		if err == nil || !strings.HasSuffix(err.Error(), tt.want) || tt.want == "" {
			t.Errorf("%s, %d x %d x %d on %d ranks: %v, want %q", tt.operation, tt.m, tt.n, tt.k, tt.world, err, tt.want)
		}
	}
}
