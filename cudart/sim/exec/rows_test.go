package exec

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart/sim/insttest"
)

// Every instruction of the table gives what Go's arithmetic gives, in whole warps and in warps of
// which some lanes are active.
func TestInstructionRows(t *testing.T) {
	for _, g := range insttest.Groups() {
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			p := compileText(t, insttest.Module(g.Target, g.Rows))
			r := rand.New(rand.NewPCG(1, uint64(len(g.Rows))))
			for i, row := range g.Rows {
				checkRow(t, p, fmt.Sprintf("k%d", i), row, r)
			}
		})
	}
}

func checkRow(t *testing.T, p *Program, entry string, row insttest.Row, r *rand.Rand) {
	t.Helper()
	const rows = 112 // the last warp is not whole
	in := insttest.Operands(r, row, rows)
	var mem memory
	base := mem.allocate(len(in))
	data := mem.at(base)
	copy(data, in)
	if err := finish(t, launchKernel(t, p, entry, Config{Threads: rows, Params: words(base), Memory: &mem})); err != nil {
		t.Fatalf("%s: %v", row.Text, err)
	}
	mask := insttest.Mask(strings.Fields(row.Types)[0])
	wrong := 0
	for i := range rows {
		a, b, c, got := insttest.Word(in, i, 1), insttest.Word(in, i, 2), insttest.Word(in, i, 3),
			insttest.Word(data, i, 0)&mask
		want := uint64(insttest.Sentinel)
		switch active := insttest.Active(i); {
		case active && row.Want != nil:
			want = row.Want(a, b, c)
		case active:
			want = got
			if row.Near != nil && !row.Near(got, a, b) {
				want = ^got
			}
		}
		if got != want&mask {
			if wrong++; wrong <= 3 {
				t.Errorf("%s of %#x, %#x, %#x is %#x, want %#x", row.Text, a, b, c, got, want&mask)
			}
		}
	}
	if wrong > 3 {
		t.Errorf("%s: %d of %d results are wrong", row.Text, wrong, rows)
	}
}
