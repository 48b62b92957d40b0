package worker

import (
	"strings"
	"testing"
)

// What lies behind the inputs and outputs of a small call belongs to no call of that size, though a larger call has it.
func TestMemoryBehindSmallCallsIsGuarded(t *testing.T) {
	store := func(count, keys string) string {
		return "entry = \"store\"\ngrid = \"ceil(count / 64) + 1\"\nblock = 64\n" +
			"args = [{pointer = \"y\"}, {u32 = 7}, {u32 = \"" + count + "\"}]\n" +
			output + "expect = \"i + 7\"\n" + keys
	}
	const vectors = "count < 64 ? 4 * ceil(count / 4) : count" // a small call writes whole vectors
	const input = "[buffers.x]\nrole = \"input\"\ntype = \"int32\"\nsize = \"bytes\"\n"
	for _, tt := range []struct{ name, text, err string }{
		{"right", store("count", input), ""},
		{"right, with values of the file", store("count", input+"init = {i32 = \"i\"}\nrestored = true\n"), ""},
		{"right, in copies", store("count", "rotate = 2\n"+input+"rotate = 3\n"), ""},
		{
			"behind an output", store(vectors, input),
			"12 bytes behind the buffer y have changed, the nearest at a distance of 0",
		},
		{
			"behind a copy", store(vectors, "rotate = 2\n"+input),
			"12 bytes behind copy 0 of the buffer y have changed, the nearest at a distance of 0",
		},
	} {
		for _, sizes := range [][]int64{{4, 4096}, {4, 256, 40960}} {
			wrong, err := customSizes(t, tt.text, sizes, 0)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) ||
				err == nil && wrong > 0 {
				t.Errorf("%s, %d bytes: %d wrong, %v; want %q", tt.name, sizes, wrong, err, tt.err)
			}
		}
	}
}
