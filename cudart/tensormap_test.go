package cudart

import (
	"strings"
	"testing"
)

func TestTensorMapCheck(t *testing.T) {
	good := func() TensorMap {
		return TensorMap{
			Base: 0x1000, Type: TensorBFloat16, Sizes: []int64{100, 50, 3}, Strides: []int64{208, 10400},
			Box: []int{64, 128, 1}, Swizzle: 128, L2Promotion: 256,
		}
	}
	m := good()
	if err := m.Check(); err != nil {
		t.Fatal(err)
	}
	if got := m.BoxBytes(); got != 64*128*2 {
		t.Errorf("a box of %d bytes", got)
	}
	m.Steps = []int{1, 3, 8}
	if got := m.BoxBytes(); m.Check() != nil || got != 64*43*2 {
		t.Errorf("%v, and a box of %d bytes with steps", m.Check(), got)
	}
	for want, spoil := range map[string]func(m *TensorMap){
		"no type":                         func(m *TensorMap) { m.Type = 16 },
		"cannot have 0 dimensions":        func(m *TensorMap) { m.Sizes = nil },
		"cannot have 6 dimensions":        func(m *TensorMap) { m.Sizes = make([]int64, 6) },
		"not 1 and 3":                     func(m *TensorMap) { m.Strides = m.Strides[1:] },
		"not 2 and 2":                     func(m *TensorMap) { m.Box = m.Box[1:] },
		"0x1008 is not a multiple of 16":  func(m *TensorMap) { m.Base = 0x1008 },
		"address 0x0":                     func(m *TensorMap) { m.Base = 0 },
		"cannot have 0 elements":          func(m *TensorMap) { m.Sizes[1] = 0 },
		"cannot have 4294967297 elements": func(m *TensorMap) { m.Sizes[0] = 1<<32 + 1 },
		"a stride of 200 bytes":           func(m *TensorMap) { m.Strides[0] = 200 },
		"in dimension 2":                  func(m *TensorMap) { m.Strides[1] = 1 << 40 },
		"a stride of 0 bytes":             func(m *TensorMap) { m.Strides[0] = 0 },
		"the box cannot have 257":         func(m *TensorMap) { m.Box[1] = 257 },
		"the box cannot have 0":           func(m *TensorMap) { m.Box[2] = 0 },
		"has 126 bytes":                   func(m *TensorMap) { m.Box[0] = 63 },
		"no swizzle of 16 bytes":          func(m *TensorMap) { m.Swizzle = 16 },
		"needs rows of as many":           func(m *TensorMap) { m.Swizzle = 64 },
		"has 2 steps":                     func(m *TensorMap) { m.Steps = []int{1, 2} },
		"steps between elements are":      func(m *TensorMap) { m.Steps = []int{1, 9, 1} },
		"and 1 in dimension 0":            func(m *TensorMap) { m.Steps = []int{2, 1, 1} },
		"no NaN":                          func(m *TensorMap) { m.Type, m.FillNaN = TensorUint16, true },
		"no L2 promotion of 32 bytes":     func(m *TensorMap) { m.L2Promotion = 32 },
	} {
		m := good()
		spoil(&m)
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error about %q", err, want)
		}
	}
}
