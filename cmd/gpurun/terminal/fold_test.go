package terminal

import (
	"bytes"
	"testing"
)

// Long sentences are broken at blanks; columns, rows and short lines stay as they are.
func TestFolder(t *testing.T) {
	var out bytes.Buffer
	text := "#\n# all is well here\n# a sentence that is longer than the terminal\n" +
		"#     size  algorithm         median us\n        1K  oneshot                4.00\n"
	want := "#\n# all is well here\n# a sentence that\n#   is longer than\n#   the terminal\n" +
		"#     size  algorithm         median us\n        1K  oneshot                4.00\n"
	text += "# Algorithms           : oneshot, twoshot, ring\n"
	want += "# Algorithms           : oneshot,\n" + "#                        twoshot,\n" +
		"#                        ring\n"
	if n, err := (folder{&out, 20}).Write([]byte(text)); n != len(text) || err != nil || out.String() != want {
		t.Errorf("%d, %v, %q, want %q", n, err, out.String(), want)
	}
}

// What is no terminal gets all of it, unchanged.
func TestResultsInAPipe(t *testing.T) {
	var out bytes.Buffer
	if w, width := Results(&out, &out); w != &out || width != 0 {
		t.Errorf("%T of %d columns", w, width)
	}
}
