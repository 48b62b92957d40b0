package simd

// Run executes up to n steps, one after the other, for all lanes, and returns how many. It stops before a step that
// needs more than it does:
//
//   - If all sources are affine, it takes the code for affine values, if there is one and the result is affine.
//   - Otherwise it takes the code for lanes, if all sources have theirs up to date.
//   - Accesses are made if the address is affine and aligned, the lanes are side by side in one region, and values that
//     are stored are up to date. Without regions none is made.
//
//go:noescape
func Run(r *Registers, steps *Step, n int) int

// codeOf, affineCodeOf and accessCodeOf are addresses of code.
func codeOf(number int) uintptr

func affineCodeOf(number int) uintptr

func accessCodeOf(number int) uintptr
