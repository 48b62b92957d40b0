package mutants

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/mutate"
)

func TestX(t *testing.T) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	work := make(chan func())
	for range 2 {
		wg.Go(func() { for f := range work { f() } })
	}
	for _, s := range append(collectives(3), collectives(2)...) {
		if p := os.Getenv("SUB"); p != "" && !strings.Contains(s.name, p) {
			continue
		}
		work <- func() {
			out := ""
			begin := time.Now()
			c, _ := check.New(check.Config{Ranks: s.world})
			r, err := s.attempt(c, s.text, 0)
			out += fmt.Sprintf("== %s %d %s %s: %v %d findings, %q, %d steps, %d instr %v\n", s.name, s.world, s.module, s.entry, err, len(r.Findings), r.Incomplete, r.Steps, r.WarpInstructions, time.Since(begin))
			ms, err := mutate.All(s.module, s.text, s.entry)
			if err != nil { t.Error(err) }
			n := map[verdict]int{}
			begin = time.Now()
			if os.Getenv("DRY") == "" {
			for _, m := range ms {
				res, err := s.judge(m)
				if err != nil { t.Error(err) }
				n[res.verdict]++
				if res.verdict != killed && res.verdict != unreached || os.Getenv("V") != "" {
					d := res.detail; if len(d) > 700 { d = d[:700] }
					out += fmt.Sprintf("   %s (%d): %v %s\n", res.verdict, res.schedules, m, d)
				}
			}}
			out += fmt.Sprintf("%s %s %d mutants %v %v\n", s.name, s.entry, len(ms), n, time.Since(begin))
			mu.Lock(); fmt.Print(out); mu.Unlock()
		}
	}
	close(work)
	wg.Wait()
}
