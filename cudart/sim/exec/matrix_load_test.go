package exec

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart/sim/tensorcore"
)

// The element of matrix m in a row and column, in the tests.
func smallElement(m, row, column int) uint32 { return uint32(m<<8 | row<<4 | column) }

// register returns what a lane holds of a matrix: two elements beside each other in a row
// or, transposed, in a column.
func smallFragment(m, lane int, transposed bool) uint32 {
	at := func(i int) uint32 {
		if transposed {
			return smallElement(m, lane%4*2+i, lane/4)
		}
		return smallElement(m, lane/4, lane%4*2+i)
	}
	return at(0) | at(1)<<16
}

// list is "%d0, %d1" for two registers of that name.
func list(name string, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%%%s%d", name, i))
	}
	return strings.Join(all, ", ")
}

// Rows are stored at one place by normal stores, and loaded from there.
func TestLoadMatrix(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		for _, suffix := range []string{"", ".trans"} {
			var in [32][10]uint32
			for lane := range 32 { // of matrix lane/8, row lane%8
				for i := range 4 {
					in[lane][i] = smallElement(lane/8, lane%8, 2*i) | smallElement(lane/8, lane%8, 2*i+1)<<16
				}
			}
			body := fmt.Sprintf(`
				st.shared.v4.b32 [%%row], {%%a0, %%a1, %%a2, %%a3};
				bar.warp.sync -1;
				ldmatrix.sync.aligned.m8n8.x%d%s.shared::cta.b16 {%s}, [%%row];`, n, suffix, list("d", n))
			d, err := runFragments(t, tensorcore.Of(9), body, in)
			if err != nil {
				t.Fatal(err)
			}
			for lane := range d {
				for m := range 4 {
					want := uint32(0xffffffff)
					if m < n {
						want = smallFragment(m, lane, suffix != "")
					}
					if d[lane][m] != want {
						t.Fatalf("x%d%s: lane %d has %#x of matrix %d, want %#x", n, suffix, lane, d[lane][m], m, want)
					}
				}
			}
		}
	}
}

func TestStoreMatrix(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		for _, suffix := range []string{"", ".trans"} {
			var in [32][10]uint32
			for lane := range 32 {
				for m := range 4 {
					in[lane][m] = smallFragment(m, lane, suffix != "")
				}
			}
			body := fmt.Sprintf(`
				st.shared.v4.b32 [%%row], {%%d0, %%d1, %%d2, %%d3};
				bar.warp.sync -1;
				stmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [%%row], {%s};
				bar.warp.sync -1;
				ld.shared.v4.b32 {%%d0, %%d1, %%d2, %%d3}, [%%row];`, n, suffix, list("a", n))
			d, err := runFragments(t, tensorcore.Of(9), body, in)
			if err != nil {
				t.Fatal(err)
			}
			for lane := range d {
				for i, got := range d[lane] {
					want := smallElement(lane/8, lane%8, 2*i) | smallElement(lane/8, lane%8, 2*i+1)<<16
					if lane/8 >= n {
						want = 0xffffffff
					}
					if got != want {
						t.Fatalf("x%d%s: row %d of matrix %d has %#x, want %#x", n, suffix, lane%8, lane/8, got, want)
					}
				}
			}
		}
	}
}

func TestMoveMatrix(t *testing.T) {
	var in [32][10]uint32
	for lane := range 32 {
		in[lane][0] = smallFragment(3, lane, false)
	}
	d, err := runFragments(t, tensorcore.Of(9), "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;", in)
	if err != nil {
		t.Fatal(err)
	}
	for lane := range d {
		if want := smallFragment(3, lane, true); d[lane][0] != want {
			t.Fatalf("lane %d has %#x, want %#x", lane, d[lane][0], want)
		}
	}
}

func TestMatrixAddresses(t *testing.T) {
	for body, want := range map[string]string{
		"add.u32 %row, %row, 8; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%d0}, [%row];": "multiple of 16",
		"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%row+1024], {%a0, %a1, %a2, %a3};":    "no 16 bytes",
		"ldmatrix.sync.aligned.m8n8.x1.b16 {%d0}, [%at];":                                "not in shared memory",
	} {
		if _, err := runFragments(t, tensorcore.Of(9), body, [32][10]uint32{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %q", body, err, want)
		}
	}
}

// A bulk copy sees what stmatrix has stored after a fence, and else maybe not.
func TestStoredMatricesAreCopied(t *testing.T) {
	var in [32][10]uint32
	for lane := range 32 {
		for m := range 4 {
			in[lane][m] = smallFragment(m, lane, false)
		}
	}
	stale := false
	for seed := range uint64(20) {
		for _, fence := range []string{"fence.proxy.async.shared::cta;", ""} {
			d, err := disturbFragments(t, tensorcore.Of(9), rand.New(rand.NewPCG(seed, 0)), `
				stmatrix.sync.aligned.m8n8.x4.shared.b16 [%row], {%a0, %a1, %a2, %a3};
				`+fence+`
				bar.sync 0;
				cp.async.bulk.global.shared::cta.bulk_group [%at], [%row], 16;
				cp.async.bulk.commit_group;
				cp.async.bulk.wait_group 0;
				ld.global.v4.b32 {%d0, %d1, %d2, %d3}, [%at];`, in)
			if err != nil {
				t.Fatal(err)
			}
			right := d[9][3] == smallElement(1, 1, 6)|smallElement(1, 1, 7)<<16
			stale = stale || !right
			if fence != "" && !right {
				t.Errorf("seed %d: lane 9 has %#x after a fence", seed, d[9])
			}
		}
	}
	if !stale {
		t.Error("no seed finds that the fence is missing")
	}
}
