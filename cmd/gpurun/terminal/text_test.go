package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Messages are broken on a terminal; what a launched program writes is not, and in a pipe nothing is.
func TestMessages(t *testing.T) {
	const message = "gpurun: a message that is longer than the thirty columns\n"
	const broken = "gpurun: a message that is\r\n  longer than the thirty\r\n  columns\r\n"
	const other = "a program's line that is longer than thirty columns\n"
	var pipe bytes.Buffer
	if w := Messages(&pipe); w != &pipe {
		t.Errorf("a pipe has %T", w)
	}
	screen, program := pseudoTerminal(t, 30)
	w := Messages(program)
	for _, text := range []string{message, other} {
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
	}
	want := broken + strings.ReplaceAll(other, "\n", "\r\n")
	got := make([]byte, len(want))
	if _, err := io.ReadFull(screen, got); err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if Fd(w) != program.Fd() {
		t.Error("it hides the terminal")
	}
}

// pseudoTerminal has two sides: what a person sees, and the file that a program writes.
func pseudoTerminal(t *testing.T, columns uint16) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_WRONLY|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return screen, program
}

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
