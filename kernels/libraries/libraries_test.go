package libraries

import (
	"testing"

	"gpurun/kernels/collective"
)

func TestMinSM(t *testing.T) {
	for _, tt := range []struct {
		library string
		dtype   collective.DType
		op      collective.Op
		want    int
	}{
		{NCCLName, collective.F8E4M3, collective.Sum, 90},
		{NCCLName, collective.F8E5M2, collective.Max, 90},
		{NCCLName, collective.F8E5M2, collective.None, 0}, // moved as bytes
		{NCCLName, collective.Int8, collective.Sum, 0},
		{NCCLName, collective.BFloat16, collective.Sum, 0},
		{NVSHMEMName, collective.F8E4M3, collective.None, 0},
		{NCCLSymmetricName, collective.F8E4M3, collective.Sum, 90},
	} {
		if got := MinSM(tt.library, tt.dtype, tt.op); got != tt.want {
			t.Errorf("%s, %s of %s: %d, want %d", tt.library, tt.op, tt.dtype.Name, got, tt.want)
		}
	}
}
