package exec

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// runMatmul multiplies integers by testdata/matmul.cu and counts the elements that are
// wrong.
func runMatmul(t *testing.T, p *Program, disorder *rand.Rand) (wrong int) {
	t.Helper()
	const m, n, k = 128, 64, 96
	r := rand.New(rand.NewPCG(1, 2))
	var mem memory
	fill := func(rows int) (addr uint64, values [][k]int) {
		addr, values = mem.allocate(2*rows*k), make([][k]int, rows)
		for i := range rows * k {
			x := r.IntN(31) - 15
			values[i/k][i%k] = x
			binary.LittleEndian.PutUint16(mem.at(addr)[2*i:], uint16(sixteenBits("bf16", x)))
		}
		return addr, values
	}
	a, rows := fill(m)
	b, columns := fill(n)
	c := mem.allocate(4 * m * n)
	g := launchKernel(t, p, "matmul", Config{
		Blocks: m / 64 * n / 64, Threads: 128, Params: words(a, b, c, n|k<<32), Memory: &mem, Disorder: disorder,
	})
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	for i := range m * n {
		want := 0
		for j := range k {
			want += rows[i/n][j] * columns[i%n][j]
		}
		if math.Float32frombits(binary.LittleEndian.Uint32(mem.at(c)[4*i:])) != float32(want) {
			wrong++
		}
	}
	return wrong
}

// A kernel as compilers make it, with copies that it waits for, or not.
func TestMatmul(t *testing.T) {
	text, err := os.ReadFile("testdata/matmul.ptx")
	if err != nil {
		t.Fatal(err)
	}
	good := compileText(t, string(text))
	hasty := compileText(t, strings.Replace(string(text), "cp.async.wait_group 1;", "cp.async.wait_group 2;", 1))
	if n := runMatmul(t, good, nil); n > 0 {
		t.Fatalf("%d elements are wrong", n)
	}
	found := false
	for seed := range uint64(5) {
		if n := runMatmul(t, good, rand.New(rand.NewPCG(seed, 0))); n > 0 {
			t.Errorf("seed %d: %d elements are wrong", seed, n)
		}
		found = found || runMatmul(t, hasty, rand.New(rand.NewPCG(seed, 0))) > 0
	}
	if !found {
		t.Error("no seed finds that the kernel does not wait for its copies")
	}
}
