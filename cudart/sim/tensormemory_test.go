package sim

import (
	_ "embed"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart"
)

//go:embed testdata/tensormemory.ptx
var tensorMemoryPTX string

// multiplyInTensorMemory runs tensormemory.ptx on small integers, and returns how many elements of D are wrong.
func multiplyInTensorMemory(t *testing.T, seed uint64, text string) (wrong int, err error) {
	t.Helper()
	const m, n, k = 128, 64, 320
	d := openWith(t, Options{Seed: seed})
	s := mustStream(t, d)
	r := rand.New(rand.NewPCG(seed, 1))
	matrix := func(rows int) (values []int, at cudart.DevicePtr, tensor [cudart.TensorMapBytes]byte) {
		values, data := make([]int, rows*k), make([]byte, 2*rows*k)
		for i := range values {
			values[i] = r.IntN(17) - 8
			binary.LittleEndian.PutUint16(data[2*i:], uint16(math.Float32bits(float32(values[i]))>>16))
		}
		at = mustMalloc(t, d, int64(len(data)))
		if err := s.Upload(at, data); err != nil {
			t.Fatal(err)
		}
		tensor, err := d.EncodeTensorMap(cudart.TensorMap{
			Base: at, Type: cudart.TensorBFloat16, Sizes: []int64{k, int64(rows)}, Strides: []int64{2 * k}, Box: []int{64, rows},
			Swizzle: 128,
		})
		if err != nil {
			t.Fatal(err)
		}
		return values, at, tensor
	}
	a, _, mapA := matrix(m)
	b, _, mapB := matrix(n)
	out := mustMalloc(t, d, 4*m*n)
	module, err := d.LoadModule("tensormemory.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := module.Kernel("product")
	if err != nil {
		t.Fatal(err)
	}
	arguments := binary.LittleEndian.AppendUint64(append(mapA[:], mapB[:]...), uint64(out))
	arguments = binary.LittleEndian.AppendUint32(arguments, k/64)
	if err := s.Launch(kernel, cudart.Launch{Blocks: 1, Threads: 128}, arguments); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4*m*n)
	if err := s.Download(got, out); err != nil {
		return 0, err
	}
	for row := range m {
		for column := range n {
			sum := 0
			for i := range k {
				sum += a[row*k+i] * b[column*k+i]
			}
			if math.Float32frombits(binary.LittleEndian.Uint32(got[4*(row*n+column):])) != float32(sum) {
				wrong++
			}
		}
	}
	return wrong, nil
}

func TestProductInTensorMemory(t *testing.T) {
	for seed := range uint64(4) {
		if wrong, err := multiplyInTensorMemory(t, seed, tensorMemoryPTX); err != nil || wrong > 0 {
			t.Errorf("seed %d: %d elements are wrong, error %v", seed, wrong, err)
		}
	}
}

// Without one of its waits, the kernel is seen to fail.
func TestMistakesInTensorMemory(t *testing.T) {
	for _, change := range [][2]string{
		{"@!p bra loaded;", ""},
		{"@!p bra wait;", ""},
		{"tcgen05.wait::ld.sync.aligned;", ""},
		{"setp.ne.u32 q, %x, 0;", "setp.eq.u32 q, 0, 0;"},
		{"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %taddr, 64;", ""},
		{"and.b32 %x, %thread, 96;", "xor.b32 %x, %thread, 32; and.b32 %x, %x, 96;"},
		{"0x4000404000000000;", "0x8000404000000000;"},
	} {
		text := strings.Replace(tensorMemoryPTX, change[0], change[1], 1)
		failed := text == tensorMemoryPTX
		for seed := uint64(1); seed < 10 && !failed; seed++ {
			wrong, err := multiplyInTensorMemory(t, seed, text)
			failed = wrong > 0 || err != nil
		}
		if !failed || text == tensorMemoryPTX {
			t.Errorf("%q for %q is not noticed", change[1], change[0])
		}
	}
}
