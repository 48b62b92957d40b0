package guard

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenLifelineRefuses(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, text := range []string{"", "x", "0", "99999", strconv.Itoa(int(file.Fd()))} {
		t.Setenv(LifelineVariable, text)
		if l, err := OpenLifeline(); err == nil || l != nil || !strings.Contains(err.Error(), LifelineVariable) {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
}

// The second signal reaches the agent also when the kernel has merged it with the first.
func TestLifelineCarriesTheSecondSignal(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := unix.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(LifelineVariable, strconv.Itoa(pair[1]))
	t.Setenv(stderrVariable, strconv.Itoa(stderr))
	l, err := OpenLifeline()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Stderr.Close()
	guards := os.NewFile(uintptr(pair[0]), "lifeline")
	if _, err := guards.Write([]byte{byte(syscall.SIGINT)}); err != nil {
		t.Fatal(err)
	}
	if got := <-l.Again(); got != syscall.SIGINT {
		t.Errorf("got %v", got)
	}
	guards.Close()
	<-l.Gone()
	l.reaper.Close()
}
