package sim

import (
	"context"
	"testing"
	"time"

	"gpurun/cudart"
)

// A device answers before its first stream, while a kernel polls, when it idles, and when it is closed.
func TestInspect(t *testing.T) {
	opened, err := New(1, Options{}).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	d := opened.(*Device)
	t.Cleanup(func() { d.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	inspect := func(when string, want int) []cudart.RunningKernel {
		t.Helper()
		kernels, err := d.Inspect(ctx)
		if err != nil || len(kernels) != want {
			t.Fatalf("%s: %d kernels run, want %d: %v", when, len(kernels), want, err)
		}
		return kernels
	}
	inspect("without a stream", 0)
	f := newFollower(t, d)
	inspect("idle", 0)
	if err := f.launch(time.Hour); err != nil {
		t.Fatal(err)
	}
	for begun := false; !begun; { // the launch is picked up soon
		kernels, err := d.Inspect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		begun = len(kernels) > 0 && kernels[0].Warps[0].Activity == cudart.Polls
	}
	if k := inspect("at work", 1)[0]; k.Name != "follow" || k.Number != 1 || k.Blocks != 1 || k.Warps[0].At.Line == 0 {
		t.Errorf("%+v", k)
	}
	if err := f.copyChunks(); err != nil {
		t.Fatal(err)
	}
	if err := f.stream.Synchronize(ctx); err != nil {
		t.Fatal(err)
	}
	inspect("done", 0)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	inspect("closed", 0)
}
