package worker

import (
	"strings"
	"testing"
	"time"

	"gpurun/worker/workload"
)

// storesCall has an output that depends on the number of the call. The reference kernel makes the same numbers.
const storesCall = `
[[steps]]
entry = "store"
grid = "ceil(count / 64)"
block = 64
args = [{pointer = "y"}, {u32 = "100 * call"}, {u32 = "count"}]
[reference]
entry = "store"
grid = "max(1, ceil(count / 64))"
block = 64
args = [{pointer = "y"}, {u32 = "100 * call"}, {u32 = "count"}]
` + output

// countsCalls has a kernel that counts its calls in device memory. The reference kernel knows their number from gpurun.
const countsCalls = `
entry = "increment"
grid = 1
block = 1
args = [{pointer = "y"}, {pointer = "counter"}]
[reference]
entry = "store"
grid = 1
block = 64
args = [{pointer = "y"}, {u32 = "call"}, {u32 = 1}]
[buffers.counter]
size = 4
init = 0
` + output

// A reference kernel gets the number of the call that it proves.
func TestReferenceHasTheNumberOfItsCall(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		job        workload.Job
	}{
		{"one by one", storesCall, workload.Job{Sizes: []int64{256, 4096, 64}}},
		{"side by side", storesCall, workload.Job{Sizes: []int64{256, 4096}, Passes: 2}},
		{"further calls", storesCall, workload.Job{Sizes: []int64{4096}, VerifyFor: 50 * time.Millisecond}},
		{"outputs that rotate", storesCall + "rotate = 3\n", workload.Job{Sizes: []int64{256, 4096, 64}}},
		{"a kernel that counts", countsCalls, workload.Job{Sizes: []int64{4}}},
	} {
		if wrong, err := customJob(t, tt.text, tt.job); err != nil || wrong > 0 {
			t.Errorf("%s: %d wrong, %v", tt.name, wrong, err)
		}
	}
}

// A graph cannot replay calls whose reference kernel needs their number.
func TestNoGraphWhereReferenceHasTheNumberOfTheCall(t *testing.T) {
	_, err := customJob(t, countsCalls, workload.Job{Sizes: []int64{4}, GraphReplays: 2})
	if err == nil || !strings.Contains(err.Error(), "has arguments that change with every call") {
		t.Errorf("got %v, want a refusal", err)
	}
}
