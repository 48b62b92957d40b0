// Package approx computes the approximate instructions of PTX as an H200 does, bit for bit.
//
// A GPU has one multifunction unit for all of them. It reduces the operand to a segment of a table and
// a position in the segment, evaluates a quadratic polynomial there, and truncates the sum to a float:
//
//   - unit.go evaluates the polynomial, tables.go has the coefficients;
//   - reciprocal.go, root.go, exponential.go, logarithm.go, sine.go and tanh.go reduce the operands;
//   - instructions.go has the instructions of PTX, which are one operation of the unit each and,
//     without .ftz, scale subnormal values around it;
//   - quotient.go, halves.go and doubles.go have the instructions on two singles and on other types.
//
// Sources: S. Oberman and M. Siu, "A High-Performance Area-Efficient Multifunction Interpolator",
// ARITH-17, 2005, for the structure; the envytools project's model of the G80's unit for the widths of
// the squarer and the reductions; measurements on an H200 for the coefficients and for what is newer
// than the G80: sqrt and tanh, and the reduction of sin and cos. fit_test.go computes the coefficients.
package approx
