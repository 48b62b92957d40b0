package examples

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// part is what a rank has in a buffer: numbers that the element type holds exactly.
type part []float32

// random makes a part. Sums of floats are rounded; sums of bfloat16 are not before the end.
func random(r *rand.Rand, elementType string, n int64) part {
	p := make(part, n)
	for i := range p {
		if p[i] = float32(r.IntN(64) - 32); elementType == "float" {
			p[i] = r.Float32() - 0.25
		}
	}
	return p
}

// encode is a part in memory, each number rounded to nearest even.
func (p part) encode(elementType string) []byte {
	var b []byte
	for _, x := range p {
		switch elementType {
		case "bfloat16":
			bits := math.Float32bits(x)
			b = binary.LittleEndian.AppendUint16(b, uint16((bits+0x7fff+bits>>16&1)>>16))
		case "float":
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		case "int32":
			b = binary.LittleEndian.AppendUint32(b, uint32(int32(x)))
		}
	}
	return b
}

// reduce combines all ranks' parts, from rank 0 on.
func reduce(op string, parts []part) part {
	all := append(part(nil), parts[0]...)
	for _, p := range parts[1:] {
		for i, x := range p {
			if op == "max" {
				all[i] = max(all[i], x)
			} else {
				all[i] += x
			}
		}
	}
	return all
}

// stencil is a rank's part of a ring of cells after one step.
func stencil(parts []part, rank int) part {
	var ring part
	for _, p := range parts {
		ring = append(ring, p...)
	}
	n, all := len(parts[rank]), len(ring)
	next := make(part, n)
	for i := range next {
		at := rank*n + i
		next[i] = ring[(at+all-1)%all] + ring[at] + ring[(at+1)%all]
	}
	return next
}

// multiply is A x B, where all ranks' rows of A follow one another, and B is stored by columns.
func multiply(a, b part, depth int) part {
	var c part
	for row := 0; row < len(a); row += depth {
		for column := 0; column < len(b); column += depth {
			var sum float32
			for i := range depth {
				sum += a[row+i] * b[column+i]
			}
			c = append(c, sum)
		}
	}
	return c
}
