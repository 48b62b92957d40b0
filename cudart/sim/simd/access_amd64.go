package simd

// Accesses of all lanes.
var (
	LoadFour32  = Access{accessCodeOf(0)} // 16 bytes for each lane, to four registers
	LoadTwo64   = Access{accessCodeOf(1)} // and to two
	LoadTwo32   = Access{accessCodeOf(2)}
	LoadOne64   = Access{accessCodeOf(3)}
	LoadOne32   = Access{accessCodeOf(4)}
	StoreFour32 = Access{accessCodeOf(5)}
	StoreTwo64  = Access{accessCodeOf(6)}
	StoreTwo32  = Access{accessCodeOf(7)}
	StoreOne64  = Access{accessCodeOf(8)}
	StoreOne32  = Access{accessCodeOf(9)}
)
