package xid

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const boot = "6,1,1,-;NVRM: Xid (PCI:0000:19:00): 31, pid=1\n6,2,2,-;usb 1-1\n"

func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kmsg")
	if err := os.WriteFile(path, []byte(boot), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, atEnd := range []bool{false, true} {
		l, err := open(path, atEnd)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if got := l.Next(); (len(got) == 0) != atEnd {
			t.Errorf("at the end %t: %v", atEnd, got)
		}
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString("6,3,3,-;NVRM: Xid (PCI:0000:3B:00): 79, GPU has fallen off the bus.\n" +
			"6,4,4,-;NVRM: Xid (PCI:0000:3B:00): 154, GPU recovery action changed\n")
		if err != nil || file.Close() != nil {
			t.Fatal(err)
		}
		want := []Event{{"0000:3b:00", 79}, {"0000:3b:00", 154}}
		if diff := cmp.Diff(want, l.Next()); diff != "" {
			t.Errorf("at the end %t: %s", atEnd, diff)
		}
		if got := l.Next(); got != nil {
			t.Errorf("again: %v", got)
		}
	}
	var none *Log
	if none.Next() != nil || none.Close() != nil {
		t.Error("a log that cannot be read has events")
	}
}

// The errors of programs, and those after which the GPU remains usable, are not the machine's.
func TestHardwareFault(t *testing.T) {
	for code, want := range map[uint64]bool{
		13: false, 31: false, 43: false, 45: false, 63: false, 94: false, 154: false, 0: false,
		48: true, 62: true, 64: true, 74: true, 79: true, 95: true, 119: true, 120: true, 140: true,
	} {
		if _, got := HardwareFault(code); got != want {
			t.Errorf("%d: %t", code, got)
		}
	}
}
