package terminal

import "testing"

// Long lines break at blanks, and continue below their last column; columns without text stay.
func TestFoldText(t *testing.T) {
	text := "PASS\n" +
		"WARN  driver   there is no driver of NVIDIA\n" +
		"  the flag between them is of rank 0 alone\n" +
		"NAME      RANKS      SIZES      SCHEDULES\n"
	want := "PASS\n" +
		"WARN  driver   there is no\n" +
		"               driver of\n" +
		"               NVIDIA\n" +
		"  the flag between them is\n" +
		"    of rank 0 alone\n" +
		"NAME      RANKS      SIZES      SCHEDULES\n"
	if got := foldText(text, 30); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
}
