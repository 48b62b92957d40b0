package ptx

// Class is the family of a fundamental type.
type Class uint8

// The type families.
const (
	Bits Class = iota
	Unsigned
	Signed
	Float
	BFloat
	E4M3 // 8-bit floats, of which only a few instructions know
	E5M2
	Pred
)

// Type is a fundamental PTX type. The zero Type is no type.
type Type struct {
	Class Class
	Bits  int // of one lane of a packed type
	Lanes int // 2 for f16x2 and bf16x2, up to 4 for 8-bit floats, else 1
}

var typeNames = map[string]Type{
	"b8": {Bits, 8, 1}, "b16": {Bits, 16, 1}, "b32": {Bits, 32, 1}, "b64": {Bits, 64, 1}, "b128": {Bits, 128, 1},
	"u8": {Unsigned, 8, 1}, "u16": {Unsigned, 16, 1}, "u32": {Unsigned, 32, 1}, "u64": {Unsigned, 64, 1},
	"s8": {Signed, 8, 1}, "s16": {Signed, 16, 1}, "s32": {Signed, 32, 1}, "s64": {Signed, 64, 1},
	"f16": {Float, 16, 1}, "f32": {Float, 32, 1}, "f64": {Float, 64, 1}, "bf16": {BFloat, 16, 1},
	"f16x2": {Float, 16, 2}, "bf16x2": {BFloat, 16, 2}, "pred": {Pred, 1, 1},
	"u16x2": {Unsigned, 16, 2}, "s16x2": {Signed, 16, 2}, "f32x2": {Float, 32, 2},
	"e4m3": {E4M3, 8, 1}, "e4m3x2": {E4M3, 8, 2}, "e4m3x4": {E4M3, 8, 4},
	"e5m2": {E5M2, 8, 1}, "e5m2x2": {E5M2, 8, 2}, "e5m2x4": {E5M2, 8, 4},
}

// ParseType finds a type by its name without the dot.
func ParseType(name string) (Type, bool) {
	t, ok := typeNames[name]
	return t, ok
}

// Width is the width of a register of this type, in bits.
func (t Type) Width() int { return t.Bits * t.Lanes }

// IsFloat reports whether t is a floating-point type of 16 bits or more.
func (t Type) IsFloat() bool { return t.Class == Float || t.Class == BFloat }

// IsFloat8 reports whether t is an 8-bit floating-point type.
func (t Type) IsFloat8() bool { return t.Class == E4M3 || t.Class == E5M2 }

func (t Type) String() string {
	for name, u := range typeNames {
		if u == t {
			return name
		}
	}
	return "no type"
}
