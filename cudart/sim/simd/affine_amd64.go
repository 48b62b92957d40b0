package simd

// What affine values become.
var (
	AffineCopy       = AffineCode{affineCodeOf(0)}
	AffineLow32      = AffineCode{affineCodeOf(1)} // the low 32 bits of a
	AffineAdd64      = AffineCode{affineCodeOf(2)}
	AffineAdd32      = AffineCode{affineCodeOf(3)}
	AffineSub64      = AffineCode{affineCodeOf(4)}
	AffineSub32      = AffineCode{affineCodeOf(5)}
	AffineMad64      = AffineCode{affineCodeOf(6)} // a*b + c, where a or b is uniform
	AffineMad32      = AffineCode{affineCodeOf(7)}
	AffineMadWideU32 = AffineCode{affineCodeOf(8)} // likewise, of 32-bit factors extended to 64 bits
	AffineMadWideS32 = AffineCode{affineCodeOf(9)}
	AffineShl64      = AffineCode{affineCodeOf(10)} // a << b, where b is uniform and less than the width
	AffineShl32      = AffineCode{affineCodeOf(11)}
	AffineExtendS32  = AffineCode{affineCodeOf(12)} // from 32 to 64 bits
	AffineChoose     = AffineCode{affineCodeOf(13)} // of a Choice
)

// Comparisons of affine values: of all lanes, the first and the last decide.
var (
	AffineCompareU32 = AffineCode{affineCodeOf(18)}
	AffineCompareS32 = AffineCode{affineCodeOf(19)}
	AffineCompareU64 = AffineCode{affineCodeOf(20)}
	AffineCompareS64 = AffineCode{affineCodeOf(21)}
)

// Operations on predicates.
var (
	FirstMask = Logic{affineCodeOf(14)}
	AndMasks  = Logic{affineCodeOf(15)}
	OrMasks   = Logic{affineCodeOf(16)}
	XorMasks  = Logic{affineCodeOf(17)}
)
