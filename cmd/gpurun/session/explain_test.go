package session

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/result"
)

func TestExplanation(t *testing.T) {
	var b bytes.Buffer
	e := explanation{w: &b}
	r := result.Result{
		Collective: "allreduce", DType: "half", Op: "sum", Bytes: 64 << 10, Algorithm: "oneshot", Blocks: 1, Why: "measured",
	}
	e.add(r)
	r.InPlace = true
	e.add(r) // says no more
	e.add(result.Result{Collective: "barrier", DType: "none", Op: "none", Algorithm: "flag", Why: "asked for"})
	want := "gpurun: allreduce half sum, 64K: oneshot with 1 block at most: measured\n" +
		"gpurun: barrier, 0: flag with the algorithm's own grid: asked for\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
	(&explanation{}).add(r) // nobody listens
}
