package session

import (
	"fmt"
	"io"
	"strings"

	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/worker/result"
)

// explanation says for every call which algorithm and grid it got, and why. The
// zero value says nothing.
type explanation struct {
	w    io.Writer
	last string
}

// memory prints what the ranks share, and why that.
func (e *explanation) memory(m result.Memory) {
	if e.w != nil {
		fmt.Fprintf(e.w, "gpurun: memory is shared by %s: %s\n", m.Backend, m.Why)
	}
}

// add prints a line, such as
//
//	gpurun: allreduce float sum, 64K: oneshot with 8 blocks: measured best on ...
//
// once for a call out of place and in place.
func (e *explanation) add(r result.Result) {
	if e.w == nil {
		return
	}
	grid := "the algorithm's own grid"
	if r.Blocks > 0 {
		grid = suggest.Count(r.Blocks, "block", "blocks") + " at most"
	}
	words := []string{r.Collective}
	for _, word := range []string{r.DType, r.Op} {
		if word != settings.None {
			words = append(words, word)
		}
	}
	line := fmt.Sprintf("gpurun: %s, %s: %s with %s: %s\n",
		strings.Join(words, " "), result.FormatSize(r.Bytes), r.Algorithm, grid, r.Why)
	if line != e.last {
		e.last = line
		io.WriteString(e.w, line)
	}
}
