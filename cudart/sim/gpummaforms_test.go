package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"gpurun/cudart"
)

// matrixForm is a kernel of matrix instructions, and random data for it.
type matrixForm interface {
	text() string
	data(r *rand.Rand, ofEach int) []byte // so many blocks of each kind of numbers
	blockBytes() int
	threads() int
	String() string
}

func (f mmaForm) blockBytes() int  { return 32 * f.laneBytes() }
func (f mmaForm) threads() int     { return 32 }
func (f mmaForm) String() string   { return f.name }
func (f wmmaForm) threads() int    { return 32 }
func (f wgmmaForm) threads() int   { return 128 }
func (f wgmmaForm) String() string { return fmt.Sprintf("%s %v %s", f.name, f.registers, f.more) }

// matrixForms are all forms of mma, wmma and wgmma.
func matrixForms() (all []matrixForm) {
	for _, f := range mmaForms() {
		all = append(all, f)
	}
	for _, f := range wmmaForms() {
		all = append(all, f)
	}
	for _, f := range wgmmaForms() {
		all = append(all, f)
	}
	return all
}

// compareForm fails where two devices multiply differently, and shows a few of the differences.
func compareForm(t *testing.T, want, got cudart.Device, f matrixForm, ofEach int) {
	t.Helper()
	data := f.data(rand.New(rand.NewPCG(11, 12)), ofEach)
	size := f.blockBytes()
	shape := cudart.Launch{Blocks: len(data) / size, Threads: f.threads()}
	text := f.text()
	wanted, found := runMatrices(t, want, text, shape, data), runMatrices(t, got, text, shape, data)
	kinds, wrong := productKinds(), map[string]int{}
	for at := 0; at < len(data); at += 4 {
		if a, b := binary.LittleEndian.Uint32(wanted[at:]), binary.LittleEndian.Uint32(found[at:]); a != b {
			kind := kinds[at/size%len(kinds)].name
			if wrong[kind]++; wrong[kind] <= 2 {
				t.Errorf("%s, %s: block %d, byte %d of %d: %#x, want %#x", f, kind, at/size, at%size, size, b, a)
			}
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%s: of %d words, wrong %v", f, len(data)/4, wrong)
	}
}

// All forms run in the simulator, with disorder as without.
func TestMatrixForms(t *testing.T) {
	d, disorder := openWith(t, Options{Major: 9}), openWith(t, Options{Major: 9, Seed: 3})
	for _, f := range matrixForms() {
		compareForm(t, d, disorder, f, 1)
	}
}

// All forms give the same bits on a GPU.
func TestGPUAndSimulatorAgreeOnMatrixForms(t *testing.T) {
	gpu, d := openHopper(t), openWith(t, Options{Major: 9})
	for _, f := range matrixForms() {
		compareForm(t, gpu, d, f, 16)
	}
}

// The sums of mma.m8n8k4 are compared more often: one of 10^5 results tells similar orders of additions apart.
func TestGPUAndSimulatorAgreeOnQuads(t *testing.T) {
	gpu, d := openHopper(t), openWith(t, Options{Major: 9})
	for _, f := range quadForms() {
		compareForm(t, gpu, d, f, 1024)
	}
}
