package tensorcore

import (
	"math/rand/v2"
	"os"
	"testing"

	"gpurun/cudart/sim/simd"
)

// tile is operands of AddTile.
type tile struct {
	Tile
	columns []Element // as rows of K elements
	d       [2]simd.Lanes
}

// at is the register and the lane of an accumulator.
func at(row, column int) (register, lane int) { return column % 2, 4*row + column/2 }

// TestTilesAreDots compares AddTile with Dot for all formats, blocks and kinds of numbers. Rows with infinities, NaNs
// and subnormal sums may be left, all others may not.
func TestTilesAreDots(t *testing.T) {
	needTiles(t)
	models := []Model{
		Of(8), Of(9), Of(8).Mma(TF32), Of(9).Wmma(TF32), Of(9).Wgmma(E4M3),
		{Block: 16, Extra: 3, Floor: -400},
		{Block: 1, Floor: -126},
		{Block: 3, Extra: 1, Floor: -133, Cut: 5},
		{Block: 16, Floor: 2},
	}
	r := rand.New(rand.NewPCG(11, 12))
	computed := 0
	for i := range 6000 {
		m, f, k := models[r.IntN(len(models))], Format(r.IntN(5)), []int{4, 8, 16, 32}[r.IntN(4)]
		x := randomTile(r, f, k, i%3 == 0)
		before := x.d
		x.Padded = uint8(r.Uint32() & r.Uint32())
		left := m.AddTile(&x.d[0], &x.d[1], &x.Tile)
		for row := range TileRows {
			of := x.Rows[row*k:][:k]
			padded, isLeft, mayBeLeft := x.Padded>>row&1 != 0, left>>row&1 != 0, false
			if padded {
				of = nil
			}
			for column := range TileColumns {
				register, lane := at(row, column)
				start, got := before[register][lane], x.d[register][lane]
				want, hard := dotOfParts(m, uint32(start), of, x.columns[column*k:][:len(of)])
				mayBeLeft = mayBeLeft || hard
				switch {
				case isLeft && got != start:
					t.Fatalf("row %d is left, but %d, %d was %#x and is %#x", row, register, lane, start, got)
				case !isLeft && got != uint64(want):
					t.Fatalf("%+v, format %d: row %d, column %d is %#x, want %#x", m, f, row, column, got, want)
				}
			}
			switch {
			case isLeft && (padded || !mayBeLeft):
				t.Fatalf("%+v, format %d: row %d is left without a reason", m, f, row)
			case !isLeft && !padded:
				computed++
			}
		}
	}
	if all := 6000 * TileRows; computed < all/4 {
		t.Errorf("only %d of %d rows were computed at once", computed, all)
	}
}

func needTiles(t *testing.T) {
	t.Helper()
	switch {
	case Of(9).AddsTiles():
	case os.Getenv("GPURUN_REQUIRE_AVX2") == "1":
		t.Fatal("GPURUN_REQUIRE_AVX2 is 1, but tiles are not added by assembly")
	default:
		t.Skip("needs AVX2, FMA and F16C")
	}
}

// dotOfParts is Dot, block by block. It is hard if an operand or a sum is not finite, or a sum is subnormal.
func dotOfParts(m Model, c uint32, a, b []Element) (sum uint32, hard bool) {
	if len(a) == 0 {
		return m.Dot(c, nil, nil), false
	}
	for len(a) > 0 {
		n := min(m.Block, len(a))
		hard = hard || !finite(a[:n]) || !finite(b[:n]) || c>>23&0xff == 0xff
		c = m.Dot(c, a[:n], b[:n])
		a, b = a[n:], b[n:]
		// What is truncated to zero may have been a subnormal number.
		hard = hard || c>>23&0xff == 0
	}
	return c, hard
}

func finite(all []Element) bool {
	_, finite := Kinds(all)
	return finite
}

// randomTile has rows and columns of zeros, and with special also infinities, NaNs and numbers of any exponent.
func randomTile(r *rand.Rand, f Format, k int, special bool) *tile {
	x := &tile{Tile: Tile{K: k}}
	x.Rows, x.columns = elements(r, f, TileRows, k, special), elements(r, f, TileColumns, k, special)
	x.Columns = make([]Step, k)
	TakeColumns(x.Columns, x.columns, k)
	for i := range x.d {
		for lane := range x.d[i] {
			x.d[i][lane] = uint64(accumulator(r))
			if special && r.IntN(50) == 0 {
				x.d[i][lane] = uint64([]uint32{0x7f800000, 0xff800000, 0x7fc00001, 1, 0x80000001}[r.IntN(5)])
			}
		}
	}
	return x
}

// kind is what the elements of a row have in common.
type kind int

const (
	anyKind kind = iota
	nearOne      // exponents near that of one: sums with few bits to spare
	tiny         // exponents near half that of the least normal single: so are many products of two
	zeros        // of both signs
	allKinds
)

func elements(r *rand.Rand, f Format, rows, k int, special bool) []Element {
	all := make([]Element, rows*k)
	for i := range rows {
		of := kind(r.IntN(int(allKinds)))
		for j := range k {
			all[i*k+j] = element(r, f, of)
			if special && r.IntN(60) == 0 {
				all[i*k+j] = single([]uint32{0x7f800000, 0xff800000, 0x7fc00000}[r.IntN(3)])
			}
		}
	}
	return all
}

// element is finite, and of the format unless the kind needs another exponent.
func element(r *rand.Rand, f Format, of kind) Element {
	sign, bits := r.Uint32()&1<<15, uint32(r.IntN(0x180)) // of exponents that differ by two
	switch of {
	case nearOne:
		return BFloat16.Decode(sign | 0x3f00 + bits)
	case tiny:
		return BFloat16.Decode(sign | 0x1f00 + bits)
	case zeros:
		return BFloat16.Decode(sign)
	}
	for {
		bits := r.Uint32() >> (32 - f.bits())
		switch f.bits() {
		case 16:
			bits = uint32(operand(r, f))
		case 32:
			bits = uint32(operand(r, BFloat16))<<16 | bits>>16
		}
		if x := f.Decode(bits); x.exponent < special {
			return x
		}
	}
}

// Zeros have no exponent: they do not raise the one that addends are aligned to, though every product is below 2^-128.
func TestTileOfZerosAndTinyProducts(t *testing.T) {
	needTiles(t)
	const k = 32
	m, r := Of(9).Wgmma(E4M3), rand.New(rand.NewPCG(15, 16))
	columns, x := make([]Element, TileColumns*k), Tile{Rows: make([]Element, TileRows*k), K: k, Columns: make([]Step, k)}
	for i := range columns {
		x.Rows[i], columns[i] = BFloat16.Decode(0x1f00+r.Uint32()&0x7f), BFloat16.Decode(0x1f00+r.Uint32()&0x7f)
	}
	TakeColumns(x.Columns, columns, k)
	var d [2]simd.Lanes
	if left := m.AddTile(&d[0], &d[1], &x); left != 0 {
		t.Fatalf("rows %08b are left", left)
	}
	for row := range TileRows {
		for column := range TileColumns {
			register, lane := at(row, column)
			want := m.Dot(0, x.Rows[row*k:][:k], columns[column*k:][:k])
			if got := d[register][lane]; got != uint64(want) {
				t.Fatalf("row %d, column %d is %#x, want %#x", row, column, got, want)
			}
		}
	}
}

func BenchmarkTile(b *testing.B) {
	x := randomTile(rand.New(rand.NewPCG(13, 14)), BFloat16, 16, false)
	d := x.d
	for b.Loop() {
		x.d = d
		Of(9).AddTile(&x.d[0], &x.d[1], &x.Tile)
	}
}
