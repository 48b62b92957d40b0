// Package ptxtest reads constants out of compiled kernels, for tests that compare
// them with their mirrors in Go.
package ptxtest

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gpurun/kernels/ptx"
)

// Numbers reads a constant array of 32-bit numbers from a module. The compiler
// leaves out trailing zero bytes.
func Numbers(t *testing.T, module, name string) []uintptr {
	t.Helper()
	text, err := ptx.Source(module)
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(fmt.Sprintf(`\.b8 %s\[(\d+)\] = \{([^}]*)\}`, name))
	m := pattern.FindSubmatch(text)
	if m == nil {
		t.Fatalf("%s.ptx has no array %s", module, name)
	}
	size, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	bytes := make([]byte, size)
	for i, number := range strings.Split(string(m[2]), ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 8)
		if err != nil {
			t.Fatal(err)
		}
		bytes[i] = byte(n)
	}
	var values []uintptr
	for ; len(bytes) > 0; bytes = bytes[4:] {
		values = append(values, uintptr(binary.LittleEndian.Uint32(bytes)))
	}
	return values
}
