package cudart

import "fmt"

// Dim3 is a size in up to three dimensions, or a place in them. As a size, a Y or Z of 0 counts as 1.
type Dim3 struct{ X, Y, Z int }

// whole replaces a Y or Z of 0 by 1.
func (d Dim3) whole() Dim3 {
	if d.Y == 0 {
		d.Y = 1
	}
	if d.Z == 0 {
		d.Z = 1
	}
	return d
}

// Count is the product of a size in all three dimensions, none of which exceeds a limit of CUDA.
func (d Dim3) Count() int64 {
	d = d.whole()
	return int64(d.X) * int64(d.Y) * int64(d.Z)
}

// At is the place with a number, in a grid or block of size d: X counts fastest, then Y.
func (d Dim3) At(number int) Dim3 {
	d = d.whole()
	return Dim3{number % d.X, number / d.X % d.Y, number / d.X / d.Y}
}

// Index is the number of the place at, the inverse of At.
func (d Dim3) Index(at Dim3) int {
	d = d.whole()
	return (at.Z*d.Y+at.Y)*d.X + at.X
}

// Flat reports whether a size has one dimension.
func (d Dim3) Flat() bool { return d.whole().Y == 1 && d.whole().Z == 1 }

// String is "8" for a size of one dimension, "8x4" for one of two, and "8x4x2".
func (d Dim3) String() string {
	switch {
	case d.Flat():
		return fmt.Sprint(d.X)
	case d.whole().Z == 1:
		return fmt.Sprintf("%dx%d", d.X, d.Y)
	}
	return fmt.Sprintf("%dx%dx%d", d.X, d.Y, d.Z)
}
