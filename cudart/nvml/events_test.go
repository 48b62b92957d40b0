package nvml

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// goWrong has the stand-in for NVML report faults, each a line of FAKE_NVML_FAULTS.
func goWrong(t *testing.T) (report func(lines string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "faults")
	t.Setenv("FAKE_NVML_FAULTS", path)
	return func(lines string) {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = file.WriteString(lines); err != nil || file.Close() != nil {
			t.Fatal(err)
		}
	}
}

func TestXidEvents(t *testing.T) {
	l, report := openFake(t), goWrong(t)
	e, err := l.WatchXids([]int{1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, _, ok, err := e.Next(); ok || err != nil {
		t.Errorf("before: %t, %v", ok, err)
	}
	report("xid 0 31\nxid 1 79\nxid 1 154\n")
	for _, want := range []uint64{79, 154} {
		if index, xid, ok, err := e.Next(); index != 1 || xid != want || !ok || err != nil {
			t.Errorf("GPU %d, Xid %d, %t, %v; want Xid %d of GPU 1", index, xid, ok, err, want)
		}
	}
	if _, _, ok, err := e.Next(); ok || err != nil {
		t.Errorf("after: %t, %v", ok, err)
	}
}

func TestXidEventsOfAnOldLibrary(t *testing.T) {
	if _, err := openFake(t, "-DOLD").WatchXids([]int{0}); !errors.Is(err, ErrNoFunction) {
		t.Errorf("error %v", err)
	}
}

func TestLost(t *testing.T) {
	l, report := openFake(t), goWrong(t)
	report("lost 0 15\n")
	if err := l.Lost(0); !errors.Is(err, ErrGPUIsLost) {
		t.Errorf("GPU 0: %v", err)
	}
	if err := l.Lost(1); err != nil {
		t.Errorf("GPU 1, which answers: %v", err)
	}
	report("lost 1 999\n") // NVML_ERROR_UNKNOWN proves nothing
	if err := l.Lost(1); err != nil {
		t.Errorf("GPU 1, which refuses: %v", err)
	}
	if n, err := l.Count(); n != 2 || err != nil {
		t.Errorf("%d GPUs, %v", n, err)
	}
	report("gone\n")
	if n, err := l.Count(); n != 1 || err != nil {
		t.Errorf("after one is gone: %d GPUs, %v", n, err)
	}
}
