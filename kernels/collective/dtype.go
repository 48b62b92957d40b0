package collective

import "slices"

// DType is an element type.
type DType struct {
	Name    string   // as nccl-tests prints it
	Aliases []string // other accepted spellings
	Size    int      // bytes of one element
	// SignificandBits counts the bits of the significand, the implicit one
	// included: integers of magnitude up to 2^SignificandBits are exact.
	SignificandBits int
	// MinExponent is the power of two of the smallest subnormal.
	MinExponent int
	// Element is the type's name in kernels/device/number.cuh.
	Element string
}

// The element types that gpurun has kernels for.
var (
	Float    = DType{Name: "float", Aliases: []string{"fp32", "float32", "f32"}, Size: 4, SignificandBits: 24, MinExponent: -149, Element: "Float"}
	Half     = DType{Name: "half", Aliases: []string{"fp16", "float16", "f16"}, Size: 2, SignificandBits: 11, MinExponent: -24, Element: "Half"}
	BFloat16 = DType{Name: "bfloat16", Aliases: []string{"bf16"}, Size: 2, SignificandBits: 8, MinExponent: -133, Element: "BFloat16"}
)

// DTypes lists all element types.
func DTypes() []DType { return []DType{Float, Half, BFloat16} }

// ParseDType finds an element type by its name or an alias.
func ParseDType(word string) (DType, bool) {
	for _, d := range DTypes() {
		if word == d.Name || slices.Contains(d.Aliases, word) {
			return d, true
		}
	}
	return DType{}, false
}

// Op is a reduction operation, by its nccl-tests name.
type Op string

// Sum adds the elements of all ranks.
const Sum Op = "sum"

// Ops lists all operations.
func Ops() []Op { return []Op{Sum} }

// ParseOp finds an operation by its name.
func ParseOp(word string) (Op, bool) {
	op := Op(word)
	return op, slices.Contains(Ops(), op)
}
