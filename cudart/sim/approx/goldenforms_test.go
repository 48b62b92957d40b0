package approx

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// form is an instruction on other types than one single.
type form struct {
	name    string
	bytes   int // of a result
	compute func(a, b uint64) uint64
	count   int
	operand func(r *rand.Rand, i int) (a, b uint64)
	sum     uint32 // CRC-32 of the results of an H200, as little-endian numbers of so many bytes
}

// forms have the operands of TestGPUApproximateForms of package sim, which recorded the results.
var forms = []form{
	{"tanh.approx.f16", 2, onHalf(Half("tanh")), 1 << 16, counted, 0x4fdbebf7},
	{"ex2.approx.f16", 2, onHalf(Half("ex2")), 1 << 16, counted, 0xd5350e3b},
	{"tanh.approx.bf16", 2, onHalf(BFloat16("tanh")), 1 << 16, counted, 0xa1373044},
	{"ex2.approx.ftz.bf16", 2, onHalf(BFloat16("ex2")), 1 << 16, counted, 0xeab02565},
	{"div.approx.f32", 4, quotient(Div, false), 1 << 19, singles, 0x02e819cc},
	{"div.approx.ftz.f32", 4, quotient(Div, true), 1 << 19, singles, 0x8ce2ad81},
	{"div.full.f32", 4, quotient(DivFull, false), 1 << 19, singles, 0x9677a776},
	{"div.full.ftz.f32", 4, quotient(DivFull, true), 1 << 19, singles, 0xd9026a12},
	{"rcp.approx.ftz.f64", 8, onDouble(Double("rcp", true)), 1<<20 + 1<<19, doubles(1 << 20), 0x78bbbc5a},
	{"rsqrt.approx.ftz.f64", 8, onDouble(Double("rsqrt", true)), 1<<21 + 1<<19, doubles(1 << 21), 0x8a1a330a},
	{"rsqrt.approx.f64", 8, onDouble(Double("rsqrt", false)), 1 << 19, doubles(0), 0xa1ad39cd},
}

func onHalf(f func(uint16) uint16) func(a, _ uint64) uint64 {
	return func(a, _ uint64) uint64 { return uint64(f(uint16(a))) }
}

func quotient(f func(a, b uint32, ftz bool) uint32, ftz bool) func(a, b uint64) uint64 {
	return func(a, b uint64) uint64 { return uint64(f(uint32(a), uint32(b), ftz)) }
}

func onDouble(f func(uint64) uint64) func(a, _ uint64) uint64 {
	return func(a, _ uint64) uint64 { return f(a) }
}

func counted(_ *rand.Rand, i int) (a, b uint64) { return uint64(i), 0 }

// singles are random, every other pair with exponents near that of 1.
func singles(r *rand.Rand, i int) (a, b uint64) {
	a, b = uint64(r.Uint32()), uint64(r.Uint32())
	if i&1 != 0 {
		a, b = a&^0x70000000|0x30000000, b&^0x70000000|0x30000000
	}
	return a, b
}

// doubles have successive upper words first, and any exponents then. Without the former, every other one has an
// exponent near that of 1.
func doubles(successive int) func(r *rand.Rand, i int) (a, b uint64) {
	return func(r *rand.Rand, i int) (a, b uint64) {
		if i < successive {
			return uint64(0x3ff00000+i)<<32 | uint64(r.Uint32()), 0
		}
		if a = r.Uint64(); i&1 != 0 && successive == 0 {
			a = a&^(0xfff<<52) | uint64(0x3f0+r.IntN(32))<<52
		}
		return a, 0
	}
}

// results are those of this package.
func (f form) results() []byte {
	r := rand.New(rand.NewPCG(7, 8))
	data := make([]byte, 0, f.count*f.bytes+8)
	for i := range f.count {
		end := len(data) + f.bytes
		data = binary.LittleEndian.AppendUint64(data, f.compute(f.operand(r, i)))[:end]
	}
	return data
}

func TestResultsOfFormsAreThoseOfAnH200(t *testing.T) {
	for _, f := range forms {
		if sum := crc32.ChecksumIEEE(f.results()); sum != f.sum {
			t.Errorf("%s: the CRC is %#x, and that of an H200's results %#x", f.name, sum, f.sum)
		}
	}
}

// compareMeasuredForm compares the results with those of a file.
func compareMeasuredForm(t *testing.T, name, file string) {
	t.Helper()
	at := slices.IndexFunc(forms, func(f form) bool { return f.name == name })
	if at < 0 {
		t.Fatalf("%s: no form has this name", file)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(forms[at].results(), want) {
		t.Errorf("%s: results differ", file)
	}
}
