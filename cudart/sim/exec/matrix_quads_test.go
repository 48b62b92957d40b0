package exec

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Each of the four products of mma.m8n8k4 is that of integers, with the places of elements as the formulas of the PTX
// ISA give them, from a lane and an element to row and column.
func TestMMAOfQuads(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, layouts := range []string{"row.row", "row.col", "col.row", "col.col"} {
		for _, types := range []string{"f16.f16", "f32.f16", "f32.f32"} {
			runQuads(t, r, layouts, types)
		}
	}
}

func runQuads(t *testing.T, r *rand.Rand, layouts, types string) {
	t.Helper()
	half := smallNumbers["f16"]
	layoutA, layoutB, _ := strings.Cut(layouts, ".")
	d, c, _ := strings.Cut(types, ".")
	var l operandsOfLanes
	var a, b [4][8][4]int
	var want [4][8][8]int
	for lane := range 32 {
		q, upper := lane%16/4, lane/16*4
		l.a[lane], l.b[lane] = make([]byte, 8), make([]byte, 8)
		l.c[lane], l.d[lane] = make([]byte, smallNumbers[c].bits), make([]byte, smallNumbers[d].bits)
		for i := range 4 {
			x, y := r.IntN(31)-15, r.IntN(31)-15
			row, k := lane%4+upper, i
			if layoutA == "col" {
				row, k = i%4+upper, lane%4
			}
			a[q][row][k] = x
			half.put(l.a[lane], i, x)
			column, k := i+upper, lane%4
			if layoutB == "col" {
				column, k = lane%4+upper, i
			}
			b[q][column][k] = y
			half.put(l.b[lane], i, y)
		}
		for i := range 8 {
			row, column := accumulatorOfQuads(c, lane, i)
			want[q][row][column] = r.IntN(201) - 100
			smallNumbers[c].put(l.c[lane], i, want[q][row][column])
		}
	}
	tt := mmaTest{text: fmt.Sprintf("mma.sync.aligned.m8n8k4.%s.%s.f16.f16.%s", layouts, d, c), a: "f16"}
	tt.launch(t, &l)
	for lane := range 32 {
		for i := range 8 {
			q := lane % 16 / 4
			row, column := accumulatorOfQuads(d, lane, i)
			sum := want[q][row][column]
			for k := range 4 {
				sum += a[q][row][k] * b[q][column][k]
			}
			if got := smallNumbers[d].get(d, l.d[lane], i); got != sum {
				t.Fatalf("%s: product %d, row %d, column %d is %d, want %d", tt.text, q, row, column, got, sum)
			}
		}
	}
}

func accumulatorOfQuads(typ string, lane, i int) (row, column int) {
	if typ == "f16" {
		return lane%4 + lane/16*4, i
	}
	return lane&1 + i&2 + lane/16*4, i&4 + lane&2 + i&1
}
