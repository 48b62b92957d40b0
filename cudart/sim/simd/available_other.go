//go:build !amd64

package simd

// Available is false: only amd64 has the functions.
func Available() bool { return false }
