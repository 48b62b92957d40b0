// Package tensorcore is the arithmetic of matrix multiplication on NVIDIA's
// tensor cores: sums of products of 16-bit, 8-bit and tf32 floats, bit for bit.
//
// NVIDIA does not document it, and it is not a chain of fused multiply-adds. What was
// found by experiments on GPUs is this. A dot product is cut into blocks. Of a
// block, the products are exact; they and the accumulator are the addends:
//
//   - An addend's exponent is that of its operands, added for a product, whose
//     significand is therefore in [1, 4). Subnormal operands have the least
//     exponent of their format, and a significand below 1.
//   - All addends are aligned to the largest exponent, and truncated toward
//     zero to 23 and a few extra bits after the point.
//   - They are added exactly, and the sum is normalized once and truncated toward
//     zero to fp32, subnormal where it is that small, infinite where it is too large.
//   - It is the accumulator of the next block.
//
// With an accumulator in fp16 the sum is rounded to nearest even instead. Of tf32, a block
// has half as many products as of 16-bit floats. Of 8-bit floats, model.go says what differs.
//
// Products beyond the range of fp32 that cancel do no harm. A sum that is zero is +0, one
// that is truncated to zero too, and every NaN is 0x7fffffff.
//
// [Model.Dot] is this in Go. [Model.AddTile] does it by assembly for eight rows and eight columns at once, and leaves
// what is rare to Dot.
//
// Sources: M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of
// NVIDIA tensor cores", PeerJ CS 2021 (alignment, truncation, no normalization in
// between); F. Khattak, M. Mikaitis, "Accurate models of NVIDIA tensor cores",
// arXiv 2512.07004 (blocks and extra bits of A100, H100, H200 and B200, compared
// with those on random inputs); P. Xie and others, "MMA-Sim", arXiv 2511.10909
// (the same found independently, and wgmma, and the bits of NaN).
package tensorcore
