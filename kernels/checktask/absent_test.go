package checktask

import (
	"bytes"
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/kernels/ptx"
)

// Where a rank never comes, waits for it expire, and the calls end. Threads tell one another by a word that the wait
// of one has expired: if its load is weak, that is a race.
func TestAbsentRankShowsTimeOutWords(t *testing.T) {
	checker, err := check.New(check.Config{Ranks: 3, Processes: true, Expire: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, weak := range []bool{false, true} {
		c := oneshot(600)
		c.Source = func(module string) ([]byte, error) {
			text, err := ptx.Source(module)
			if weak {
				text = bytes.ReplaceAll(text, []byte("ld.relaxed.gpu.global.u32"), []byte("ld.global.u32"))
			}
			return text, err
		}
		r, err := checker.Run(1, c.Absent)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Findings) > 0 != weak || weak && r.Findings[0].Kind != check.Race {
			t.Errorf("weak %t: findings %v", weak, r.Findings)
		}
	}
}

// The results of calls with buffers that are not aligned to vectors are right.
func TestSkewedBuffers(t *testing.T) {
	c := oneshot(40, 7)
	c.Skew = 4
	for _, f := range run(t, 2, c).Findings {
		if f.Kind == check.WrongResult {
			t.Error(f)
		}
	}
	l, err := c.layOut(2, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{l.input, l.output} {
		if at%16 != c.Skew {
			t.Errorf("a buffer is at %d", at)
		}
	}
}
