package trace

import "fmt"

// stepThread is the thread of the steps. A rank that has steps has no tiles and copies.
const stepThread = 0

// Step is a launch, fill, copy or barrier of the call of a kernel file. Its times are nanoseconds that count from the
// barrier of all ranks before the call.
type Step struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Line  int    `json:"line"` // of the kernel file
	Begin int64  `json:"begin"`
	End   int64  `json:"end"`
}

// checkSteps returns an error for steps that are out of order.
func (r Rank) checkSteps() error {
	end := int64(0)
	for i, s := range r.Steps {
		if s.Begin < end || s.Begin > s.End {
			return fmt.Errorf("drawing a timeline: on rank %d, step %d, %s, begins at %d ns and ends at %d; "+
				"the step before ends at %d", r.Rank, i+1, s.Name, s.Begin, s.End, end)
		}
		end = s.End
	}
	return nil
}

// steps writes the steps of a call.
func (w *writer) steps(r Rank) {
	for i, s := range r.Steps {
		if i == 0 {
			w.thread(r.Rank, stepThread, "steps")
		}
		args := map[string]any{"step": i + 1, "line": s.Line}
		w.slice(r, stepThread, s.Name, s.Kind, r.Met+s.Begin, r.Met+s.End, args)
	}
}
