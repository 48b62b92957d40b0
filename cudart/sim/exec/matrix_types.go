package exec

import (
	"fmt"
	"slices"

	"gpurun/cudart/sim/ptx"
	"gpurun/cudart/sim/tensorcore"
)

// elementType is a type of the elements of matrices. Most types of multiplicands exist nowhere else
// in PTX, so that they are no ptx.Type.
type elementType struct {
	name   string
	bits   int
	class  elementClass
	format tensorcore.Format // of a float
	signed bool              // of an integer
}

// elementClass says which arithmetic multiplies elements.
type elementClass uint8

const (
	floatElement   elementClass = iota // exact products, summed by tensor cores
	doubleElement                      // fused multiply-adds
	integerElement                     // exact
	bitElement                         // populations of bits
	accumulatorElement
)

// elementTypes are the types of multiplicands, and those that are of accumulators alone.
var elementTypes = []elementType{
	{name: "f16", bits: 16, format: tensorcore.Half},
	{name: "bf16", bits: 16, format: tensorcore.BFloat16},
	{name: "tf32", bits: 32, format: tensorcore.TF32},
	{name: "e4m3", bits: 8, format: tensorcore.E4M3},
	{name: "e5m2", bits: 8, format: tensorcore.E5M2},
	{name: "f64", bits: 64, class: doubleElement},
	{name: "s8", bits: 8, class: integerElement, signed: true},
	{name: "u8", bits: 8, class: integerElement},
	{name: "s4", bits: 4, class: integerElement, signed: true},
	{name: "u4", bits: 4, class: integerElement},
	{name: "b1", bits: 1, class: bitElement},
	{name: "f32", bits: 32, class: accumulatorElement},
	{name: "s32", bits: 32, class: accumulatorElement},
}

// takeElements removes n types of elements from the modifiers.
func (c *compiler) takeElements(n int) []*elementType {
	types := make([]*elementType, n)
	for i := range types {
		types[i] = c.takeElement()
	}
	return types
}

func (c *compiler) takeElement() *elementType {
	for i, m := range c.mods {
		at := slices.IndexFunc(elementTypes, func(t elementType) bool { return t.name == m })
		if at >= 0 {
			c.mods = slices.Delete(c.mods, i, i+1)
			return &elementTypes[at]
		}
	}
	c.fail("%s needs another type of elements", c.in.Op)
	return &elementTypes[0]
}

// register is the type of the registers that hold elements of this type.
func (t *elementType) register() ptx.Type {
	if t.bits == 64 {
		return b64
	}
	return b32
}

// perRegister is how many elements a register holds.
func (t *elementType) perRegister() int { return max(1, 32/t.bits) }

// multiplies reports whether elements of t and u may be multiplied: equal ones, and integers or 8-bit
// floats of one width.
func (t *elementType) multiplies(u *elementType) bool {
	mixed := t.class == integerElement || t.class == floatElement && t.bits == 8
	return t == u || mixed && t.class == u.class && t.bits == u.bits
}

// accumulates reports whether products of elements of type t are summed in type d.
func (t *elementType) accumulates(d *elementType) bool {
	switch t.class {
	case doubleElement:
		return d.class == doubleElement
	case integerElement, bitElement:
		return d.name == "s32"
	case floatElement:
		return d.name == "f32" || d.name == "f16" && (t.name == "f16" || t.bits == 8)
	}
	return false
}

// matrixShape is the extents of a product: A is m x k, B is k x n.
type matrixShape struct{ m, n, k int }

func (s matrixShape) String() string { return fmt.Sprintf("m%dn%dk%d", s.m, s.n, s.k) }

// takeShape removes a shape from the modifiers, and returns the zero shape where there is none.
func (c *compiler) takeShape() (s matrixShape) {
	for i, m := range c.mods {
		if n, _ := fmt.Sscanf(m, "m%dn%dk%d", &s.m, &s.n, &s.k); n == 3 && s.String() == m {
			c.mods = slices.Delete(c.mods, i, i+1)
			return s
		}
	}
	return matrixShape{}
}
