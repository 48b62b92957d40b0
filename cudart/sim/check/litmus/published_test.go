package litmus

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Verdicts of others are compared where GPURUN_LITMUS names a folder of tests and GPURUN_LITMUS_EXPECTED a file of
// their verdicts, as Dat3M publishes them. The tests run as kernels, too.
func TestPublishedVerdicts(t *testing.T) {
	folder, expected := os.Getenv("GPURUN_LITMUS"), os.Getenv("GPURUN_LITMUS_EXPECTED")
	if folder == "" || expected == "" {
		t.Skip("GPURUN_LITMUS and GPURUN_LITMUS_EXPECTED name no tests")
	}
	f, err := os.Open(expected)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	verdicts, err := ReadExpectations(f)
	if err != nil {
		t.Fatal(err)
	}
	agree, unsupported, kernels := 0, 0, coverage{t: t, lenient: true}
	err = filepath.Walk(folder, func(path string, _ os.FileInfo, err error) error {
		want, known := verdicts.Verdict(path)
		if err != nil || !known || !strings.HasSuffix(path, ".litmus") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		start := time.Now()
		got, err := Judge(string(text), Options{})
		if d := time.Since(start); d > 100*time.Millisecond {
			t.Logf("%s takes %v", path, d)
		}
		var missing *Unsupported
		switch {
		case errors.As(err, &missing):
			unsupported++
			t.Logf("%s: %v", path, err)
		case err != nil:
			t.Errorf("%s: %v", path, err)
		case got.Holds != want:
			t.Errorf("%s: holds %v, published is %v", path, got.Holds, want)
		default:
			agree++
		}
		kernels.add(string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d verdicts agree of %d, %d tests are not modeled", agree, len(verdicts), unsupported)
	t.Log(&kernels)
}
