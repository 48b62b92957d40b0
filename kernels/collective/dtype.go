package collective

import "slices"

// Kind says how an element type's bits are read.
type Kind int

// The kinds of element types.
const (
	Signed Kind = iota
	Unsigned
	FloatingPoint
)

// DType is an element type.
type DType struct {
	Name    string   // as nccl-tests prints it
	Aliases []string // other accepted spellings
	Size    int      // bytes of one element
	Kind    Kind
	// SignificandBits counts the bits of a float's significand, the implicit
	// one included: integers of magnitude up to 2^SignificandBits are exact.
	SignificandBits int
	// MinExponent is the power of two of a float's smallest subnormal.
	MinExponent int
	// Element is the type's name in kernels/device/types.cuh.
	Element string
}

// The element types that gpurun has kernels for.
var (
	Int8   = DType{Name: "int8", Aliases: []string{"i8"}, Size: 1, Kind: Signed, Element: "Int8"}
	UInt8  = DType{Name: "uint8", Aliases: []string{"u8"}, Size: 1, Kind: Unsigned, Element: "UInt8"}
	Int32  = DType{Name: "int32", Aliases: []string{"i32", "int"}, Size: 4, Kind: Signed, Element: "Int32"}
	UInt32 = DType{Name: "uint32", Aliases: []string{"u32"}, Size: 4, Kind: Unsigned, Element: "UInt32"}
	Int64  = DType{Name: "int64", Aliases: []string{"i64"}, Size: 8, Kind: Signed, Element: "Int64"}
	UInt64 = DType{Name: "uint64", Aliases: []string{"u64"}, Size: 8, Kind: Unsigned, Element: "UInt64"}
	Half   = DType{
		Name: "half", Aliases: []string{"fp16", "float16", "f16"}, Size: 2, Kind: FloatingPoint, SignificandBits: 11,
		MinExponent: -24, Element: "Half",
	}
	Float = DType{
		Name: "float", Aliases: []string{"fp32", "float32", "f32"}, Size: 4, Kind: FloatingPoint, SignificandBits: 24,
		MinExponent: -149, Element: "Float",
	}
	Double = DType{
		Name: "double", Aliases: []string{"fp64", "float64", "f64"}, Size: 8, Kind: FloatingPoint, SignificandBits: 53,
		MinExponent: -1074, Element: "Double",
	}
	BFloat16 = DType{
		Name: "bfloat16", Aliases: []string{"bf16"}, Size: 2, Kind: FloatingPoint, SignificandBits: 8, MinExponent: -133,
		Element: "BFloat16",
	}
	F8E4M3 = DType{
		Name: "f8e4m3", Aliases: []string{"fp8_e4m3", "float8_e4m3"}, Size: 1, Kind: FloatingPoint, SignificandBits: 4,
		MinExponent: -9, Element: "F8E4M3",
	}
	F8E5M2 = DType{
		Name: "f8e5m2", Aliases: []string{"fp8_e5m2", "float8_e5m2"}, Size: 1, Kind: FloatingPoint, SignificandBits: 3,
		MinExponent: -16, Element: "F8E5M2",
	}
)

// DTypes lists all element types, in nccl-tests' order.
func DTypes() []DType {
	return []DType{Int8, UInt8, Int32, UInt32, Int64, UInt64, Half, Float, Double, BFloat16, F8E4M3, F8E5M2}
}

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

// The operations. Integers wrap around; those of 8 bits are summed in 32 bits and wrap when the
// result is stored. Avg divides the sum by the number of ranks, and rounds integers toward zero.
// Min and Max of a number and a NaN return the number.
const (
	Sum  Op = "sum"
	Prod Op = "prod"
	Min  Op = "min"
	Max  Op = "max"
	Avg  Op = "avg"
	// None is the operation of collectives that do not reduce.
	None Op = "none"
)

// Ops lists all reductions, in nccl-tests' order.
func Ops() []Op { return []Op{Sum, Prod, Min, Max, Avg} }

// ParseOp finds a reduction by its name.
func ParseOp(word string) (Op, bool) {
	op := Op(word)
	return op, slices.Contains(Ops(), op)
}
