package nvml

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUse(t *testing.T) {
	l := openFake(t)
	want := Use{
		Utilisation: 41, Memory: MemoryUse{Total: 150 << 30, Reserved: 1 << 30, Used: 1 << 30},
	}
	got, err := l.Use(1)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, difference (-want +got):\n%s", err, diff)
	}
	if got, err := l.Use(0); err != nil || len(got.Processes) != 1 || got.Utilisation != 40 {
		t.Errorf("GPU 0: %+v, %v", got, err)
	}
	if _, err := l.Use(7); err == nil {
		t.Error("a GPU that is not there is used")
	}
	if got, err := openFake(t, "-DOLD").Use(0); err != nil || got.Utilisation != -1 {
		t.Errorf("an old library: %+v, %v", got, err)
	}
}
