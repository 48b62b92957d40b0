package tensorcore

import "math"

// From 9.0 on mma of 8-bit floats is a sequence of other instructions. The fours of elements in
// a register are widened to two pairs of fp16. The first pairs of all fours are multiplied, then
// the second ones, and the accumulator is added at last by an addition of its own.
// An H100 was found to do so.

// Widens reports whether mma widens elements of a format, so that DotWidened and DotHalfWidened are the sums.
func (m Model) Widens(f Format) bool { return f.bits() == 8 && m.Block > 8 }

// maxWidened is the most elements of a row that mma has of 8-bit floats.
const maxWidened = 32

// DotWidened is Dot of 8-bit floats, at most 32 of them and a multiple of 4.
func (m Model) DotWidened(c uint32, a, b []Element) uint32 {
	var first, second pairs
	first.take(a, b, 0)
	second.take(a, b, 2)
	sum := m.Dot(m.Dot(0, first.a[:first.n], first.b[:first.n]), second.a[:second.n], second.b[:second.n])
	if x := math.Float32frombits(c) + math.Float32frombits(sum); x == x {
		return math.Float32bits(x)
	}
	return NaN
}

// DotHalfWidened is the same for accumulators in fp16.
func (m Model) DotHalfWidened(c uint16, a, b []Element) uint16 {
	var first, second pairs
	first.take(a, b, 0)
	second.take(a, b, 2)
	sum := m.DotHalf(m.DotHalf(0, first.a[:first.n], first.b[:first.n]), second.a[:second.n], second.b[:second.n])
	// The sum of two halfs has few enough bits to be aligned without a loss.
	return m.DotHalf(c, []Element{half(sum)}, []Element{{value: 1}})
}

// pairs are elements of a row and a column.
type pairs struct {
	a, b [maxWidened]Element
	n    int
}

// take picks two elements of every four, from the given one on.
func (p *pairs) take(a, b []Element, from int) {
	for k := from; k < len(a); k += 4 {
		p.a[p.n], p.a[p.n+1] = a[k].widened(), a[k+1].widened()
		p.b[p.n], p.b[p.n+1] = b[k].widened(), b[k+1].widened()
		p.n += 2
	}
}

// widened is x in fp16, where the subnormal numbers of E4M3 are normal.
func (x Element) widened() Element {
	if x.exponent == leastOfE4M3 {
		_, e := math.Frexp(x.value)
		x.exponent = int32(e) - 1
	}
	return x
}
