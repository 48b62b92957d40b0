package worker

import (
	"strings"
	"testing"
	"time"

	"gpurun/worker/workload"
)

// copied is a custom file whose kernel copies the input x to the output y. Its place holders stand for keys of x and y
// and for the arguments.
const copied = `
entry = "copy"
grid = "ceil(count / 64)"
block = 64
args = [ARGS, {u32 = "count"}]
[reference]
entry = "copy"
grid = "max(1, ceil(count / 64))"
block = 64
args = [{pointer = "y"}, {pointer = "x"}, {u32 = "count"}]
[buffers.x]
role = "input"
type = "int32"
size = "bytes"
X
[buffers.y]
role = "output"
type = "int32"
size = "bytes"
Y
`

// copying is the text of copied with keys of the input and the output, and with arguments.
func copying(x, y, args string) string {
	return strings.NewReplacer("X\n", x+"\n", "Y\n", y+"\n", "ARGS", args).Replace(copied)
}

const fromXToY = `{pointer = "y"}, {pointer = "x"}`

// Inputs and outputs may have several copies, which calls use in turn: each call has its input in its own copy, and its
// output is the copy that is verified.
func TestInputsAndOutputsRotate(t *testing.T) {
	for _, keys := range [][2]string{
		{"rotate = 3", ""},
		{"", "rotate = 3"},
		{"rotate = 3", "rotate = 2"},
		{"rotate = 3\ninit = {i32 = \"100 * rank + count - i\"}", "rotate = 2"},
	} {
		text := copying(keys[0], keys[1], fromXToY)
		for name, job := range map[string]workload.Job{
			"one by one":    {Sizes: []int64{256, 4096, 64}},
			"side by side":  {Sizes: []int64{256, 4096}, Passes: 2},
			"further calls": {Sizes: []int64{4096}, VerifyFor: 50 * time.Millisecond},
		} {
			if wrong, err := customJob(t, text, job); err != nil || wrong > 0 {
				t.Errorf("x %q, y %q, %s: %d wrong, %v", keys[0], keys[1], name, wrong, err)
			}
		}
	}
}

// A call that reads or writes the copy of another call is found.
func TestCopiesOfOtherCallsAreFound(t *testing.T) {
	const next = ", offset = \"(length('x') + 256) * (call % 2 == 0 ? 1 : -1)\"}" // between copies are 256 bytes
	for _, tt := range []struct {
		name, args string
		least      int64 // wrong of 64 elements of two ranks, before timing and after; some numbers are the same
		err        string
	}{
		{"reads it", `{pointer = "y"}, {pointer = "x"` + next, 200, ""},
		{
			"writes it", `{pointer = "y"` + next + `, {pointer = "x"}`, 0,
			"it changed copy 1 of the output y, and the address that it got is of copy 0",
		},
		{"overwrites an input", `{pointer = "x"` + next + `, {pointer = "y"}`, 0, "the input x: an out-of-place call"},
	} {
		wrong, err := custom(t, copying("rotate = 2", "rotate = 2", tt.args), 256, 0)
		if wrong < tt.least || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %d wrong, %v; want at least %d wrong, %q", tt.name, wrong, err, tt.least, tt.err)
		}
	}
}

// A kernel may write to a peer's output that rotates before the peer has made its call.
func TestEarlyStoresToAnOutputThatRotates(t *testing.T) {
	const text = `
[[steps]]
entry = "store"
grid = 1
block = 64
args = [{pointer = "y", rank = "1 - rank"}, {u32 = 7}, {u32 = "count"}]
[[steps]]
barrier = true
` + output + "expect = \"i + 7\"\nrotate = 2\n"
	wrong, err := customJob(t, text, workload.Job{
		Sizes: []int64{256}, Skew: []workload.Skew{{Rank: 1, By: 100 * time.Millisecond}},
	})
	if err != nil || wrong > 0 {
		t.Errorf("%d wrong, %v", wrong, err)
	}
}

// No call may write to the memory between copies, or behind the last one.
func TestMemoryAroundCopiesIsGuarded(t *testing.T) {
	const rest = "\n[buffers.pad]\nsize = 12\ninit = 0\nrotate = 3\n"
	const right = `{pointer = "y"}, {u32 = 5}, {u32 = "count"}`
	store := func(args, keys string) string { // calls 0 and 4 are verified, with copies 0 and 1 of the output
		return "entry = \"store\"\ngrid = \"ceil(count / 64) + 1\"\nblock = 64\nargs = [" + args + "]\n" + output +
			"expect = \"i + 5\"\nrotate = 3\n" + keys
	}
	for _, tt := range []struct{ name, text, err string }{
		{"right", store(right, rest), ""},
		{"reset", store(right, rest+"reset = true\n"), ""},
		{"restored", store(right, rest+"restored = true\n"), ""},
		{"restored elements", store(right, strings.Replace(rest, "0", `{u32 = "i"}`, 1)+"restored = true\n"), ""},
		{
			"behind a copy", store(`{pointer = "y"}, {u32 = 5}, {u32 = "count + 1"}`, rest),
			"4 bytes behind copy 0 of the buffer y have changed, the nearest at a distance of 0",
		},
		{
			"behind the copy of a later call",
			store(`{pointer = "y"}, {u32 = 5}, {u32 = "call == 4 ? count + 1 : count"}`, rest),
			"4 bytes behind copy 1 of the buffer y have changed, the nearest at a distance of 0",
		},
		{
			"behind the last copy", strings.Replace(
				store(`{pointer = "y"}, {u32 = 5}, {u32 = "call == 4 ? count + 1 : count"}`, rest),
				"rotate = 3", "rotate = 5", 1),
			"4 bytes behind copy 4 of the buffer y have changed, the nearest at a distance of 0",
		},
		{
			"in front of the first copy",
			store(`{pointer = "y", offset = -4}, {u32 = 4}, {u32 = "count + 1"}`, rest),
			"4 bytes in front of copy 0 of the buffer y have changed, the nearest at a distance of 0",
		},
		{
			"in front of a copy", store(`{pointer = "y", offset = "call == 4 ? -4 : 0"}, {u32 = "call == 4 ? 4 : 5"}, `+
				`{u32 = "call == 4 ? count + 1 : count"}`, rest),
			"4 bytes in front of copy 1 of the buffer y have changed, the nearest at a distance of 0",
		},
		{
			"behind a copy of other memory", store(`{pointer = "pad"}, {u32 = 5}, {u32 = 4}`, rest),
			"4 bytes behind copy 0 of the buffer pad have changed, the nearest at a distance of 0",
		},
	} {
		for _, size := range []int64{248, 256} {
			wrong, err := custom(t, tt.text, size, 0)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) ||
				err == nil && wrong > 0 {
				t.Errorf("%s, %d bytes: %d wrong, %v; want %q", tt.name, size, wrong, err, tt.err)
			}
		}
	}
}
