package worker

import (
	"strings"
	"testing"
)

// A buffer is as large as any call and any rank needs it, and holds its file also where it must be restored.
func TestSizesOfBuffersOfKernelFiles(t *testing.T) {
	const store = `
[[steps]]
entry = "store"
grid = "ceil(count / 64)"
block = 64
args = [{pointer = "y"}, {u32 = 0}, {u32 = "count"}]
[[steps]]
entry = "store"
grid = "ceil(count / 64)"
block = 64
args = [{pointer = "more"}, {u32 = 0}, {u32 = "length('more') / 4"}]
` + output + "expect = \"i\"\n[buffers.more]\n"
	const file = "type = \"int32\"\ninit_file = \"squares.npy\"\n"
	const restored = "size = 512\nrestored = true\n"
	for text, want := range map[string]string{
		"size = \"bytes\"\nhost = true\n":               "",
		"size = \"4 * (rank + 1)\"\nprivate = true\n":   "",
		"size = \"4 * (rank + 1)\"\nhost = true\n":      "",
		"size = 128\nhost = true\n" + file:              "mine.toml:25: the file has 256 bytes, and the buffer 128",
		restored + "init = {u32 = \"i\"}\n":             "",
		restored + file:                                 "has not restored the buffer more: byte 8 was 0x04",
		restored + file + "[globals]\nbase = {u32 = 1}": "has not restored the buffer more: byte 0 was 0x00",
	} {
		_, err := customSizes(t, store+text, []int64{64, 4096, 64}, 0)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	untouched := strings.Replace(store, "length('more') / 4", "0", 1)
	if _, err := custom(t, untouched+restored+file, 64, 0); err != nil {
		t.Errorf("behind a file there is something else than poison: %v", err)
	}
}

// An input may depend on the size of a call, also where calls have several sizes: here no value behind the count of the
// call exists.
func TestInputsThatDependOnTheSizeOfACall(t *testing.T) {
	const text = `
entry = "store"
grid = "ceil(count / 64)"
block = 64
args = [{pointer = "y"}, {u32 = 0}, {u32 = "count"}]
` + output + `expect = "i"
[buffers.x]
role = "input"
type = "uint32"
size = "bytes"
`
	const init = "init = {u32 = \"count - 1 - i\"}\n"
	for _, keys := range []string{init, init + "restored = true\n", init + "restored = true\nrotate = 2\n"} {
		if wrong, err := customSizes(t, text+keys, []int64{64, 4096, 64}, 0); err != nil || wrong > 0 {
			t.Errorf("%s: %d wrong, %v", keys, wrong, err)
		}
		if !strings.Contains(keys, "restored") {
			continue
		}
		overwriting := strings.Replace(text, "pointer = \"y\"", "pointer = \"x\"", 1)
		_, err := customSizes(t, overwriting+keys, []int64{64, 4096}, 0)
		if want := "has not restored the buffer x: byte 0 was 0x0f"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the input is overwritten: %v, want %q", keys, err, want)
		}
	}
}
