package trace

import (
	"bytes"
	"strings"
	"testing"

	"gpurun/worker/golden"
)

// stepped is two ranks with the steps of a kernel file's call.
func stepped() Timeline {
	steps := func(first int64) []Step {
		return []Step{
			{Kind: "barrier", Name: "barrier", Line: 10, End: first},
			{Kind: "launch", Name: "reduce_scatter", Line: 13, Begin: first, End: 9000},
			{Kind: "copy", Name: "copy a to b", Line: 22, Begin: 9000, End: 9125},
		}
	}
	return Timeline{Title: "two steps", Ranks: []Rank{
		{Rank: 0, Device: "NVIDIA H200", Steps: steps(3000)}, {Rank: 1, Device: "NVIDIA H200", Steps: steps(1)},
	}}
}

func TestWriteSteps(t *testing.T) {
	var got bytes.Buffer
	if err := Write(&got, stepped()); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "steps.json", got.Bytes())
}

func TestStepsOutOfOrder(t *testing.T) {
	for want, spoil := range map[string]func([]Step){
		"on rank 1, step 2, reduce_scatter, begins at 0 ns and ends at 9000; the step before ends at 1": func(s []Step) {
			s[1].Begin = 0
		},
		"on rank 1, step 3, copy a to b, begins at 9000 ns and ends at 8999; the step before ends at 9000": func(s []Step) {
			s[2].End = 8999
		},
	} {
		timeline := stepped()
		spoil(timeline.Ranks[1].Steps)
		var out bytes.Buffer
		if err := Write(&out, timeline); err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
			t.Errorf("got %v and %d bytes, want %s", err, out.Len(), want)
		}
	}
}
