package reference

import (
	"encoding/binary"
	"math"
	"testing"

	"gpurun/kernels/collective"
)

// The bound is that of numpy.allclose: absolute + relative * |expected|.
func TestValues(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tt := range []struct {
		got, want, relative, absolute float64
		right                         bool
	}{
		{got: 1, want: 1, right: true},
		{got: 1.001, want: 1},
		{got: 1.001, want: 1, relative: 0.01, right: true},
		{got: 1.02, want: 1, relative: 0.01},
		{got: 1e-9, want: 0, relative: 0.01},
		{got: 1e-9, want: 0, absolute: 1e-8, right: true},
		{got: -1e-7, want: 0, absolute: 1e-8},
		{got: -1.015, want: -1, relative: 0.01, absolute: 0.01, right: true},
		{got: 1.015, want: 1, relative: 0.01},
		{got: 1.015, want: 1, absolute: 0.01},
		{got: 1, want: -1, relative: 0.5, absolute: 0.5},
		{got: 5, want: inf, relative: 0.5},
		{got: -inf, want: inf, relative: 0.5},
		{got: inf, want: 5, relative: 0.5, absolute: 1},
		{got: inf, want: inf, relative: 0.5, right: true},
		{got: nan, want: 1, relative: 0.5, absolute: 1},
		{got: 1, want: nan, relative: 0.5, absolute: 1},
		{got: nan, want: -nan, absolute: 1, right: true},
	} {
		tolerance := collective.Tolerance{Relative: tt.relative, Absolute: tt.absolute}
		v := Values(collective.Double, double(tt.got), double(tt.want), 7, tolerance)
		if right := v.Wrong == 0; right != tt.right || !right && v.First != 7 {
			t.Errorf("%+v: %+v", tt, v)
		}
	}
	v := Values(collective.Int64, []byte{2, 0, 0, 0, 0, 0, 0, 0}, []byte{1, 0, 0, 0, 0, 0, 0, 0}, 0,
		collective.Tolerance{Relative: 9, Absolute: 9})
	if v.Wrong != 1 {
		t.Error("a tolerance is not for integers")
	}
}

func double(f float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)) }

func TestExcess(t *testing.T) {
	both := collective.Tolerance{Relative: 0.01, Absolute: 1e-6}
	for _, tt := range []struct {
		got, want float64
		tolerance collective.Tolerance
		excess    Excess
	}{
		{1, 1, both, Excess{}},
		{2, 1, collective.Tolerance{}, Excess{}},
		{2, -1, both, Excess{
			"-1", "2", "they differ by 3, and tolerance = 0.01 with absolute_tolerance = 1e-06 allows 0.01",
		}},
		{2, 100, collective.Tolerance{Relative: 0.5}, Excess{
			"100", "2", "they differ by 98, and tolerance = 0.5 allows 50",
		}},
		{0.1, 0, collective.Tolerance{Absolute: 0.05}, Excess{
			"0", "0.1", "they differ by 0.1, and absolute_tolerance = 0.05 allows 0.05",
		}},
		{math.NaN(), 0, both, Excess{"0", "NaN", "no tolerance allows this difference"}},
	} {
		v := Values(collective.Double, double(tt.got), double(tt.want), 0, tt.tolerance)
		if e := ExcessOf(collective.Double, v, tt.tolerance); e != tt.excess {
			t.Errorf("%+v: %+v", tt, e)
		}
	}
}
