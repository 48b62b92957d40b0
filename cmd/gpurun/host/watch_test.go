package host

import (
	"os"
	"path/filepath"
	"testing"

	"gpurun/cudart/dl/dltest"
)

func TestWatch(t *testing.T) {
	library := dltest.Build(t, "libnvidia-ml.so.1", "../../../cudart/nvml/testdata/fakenvml.c")
	for name, c := range map[string]struct {
		visible, faults, want string
	}{
		"nothing":           {"", "", ""},
		"a program's error": {"", "xid 0 31\nxid 0 45\n", ""},
		"an error of the memory": {
			"", "xid 0 31\nxid 1 48\nxid 1 79\n",
			"GPU 1 (0000:19:00.0) reported Xid 48: an uncorrectable error of the memory",
		},
		"another's GPU":              {"0", "xid 1 79\nlost 1 15\n", ""},
		"a GPU that is lost":         {"1", "lost 1 15\n", "GPU 1 does not answer: NVML_ERROR_GPU_IS_LOST"},
		"a GPU that must be reset":   {"", "lost 0 16\n", "GPU 0 does not answer: NVML_ERROR_RESET_REQUIRED"},
		"a GPU that is gone":         {"", "gone\n", "the driver shows 1 of the 2 GPUs that were there when the job began"},
		"another's GPU is gone":      {"0", "gone\n", ""},
		"a GPU that does not answer": {"", "lost 0 999\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "faults")
			t.Setenv("FAKE_NVML_FAULTS", path)
			if c.visible != "" {
				t.Setenv("CUDA_VISIBLE_DEVICES", c.visible)
			}
			w := WatchGPUs(library)
			if err := w.Fault(); err != nil {
				t.Errorf("before: %v", err)
			}
			if err := os.WriteFile(path, []byte(c.faults), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := w.Fault(); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if err := w.Fault(); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
				t.Errorf("again: error %v, want %q", err, c.want)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	w := WatchGPUs("/nowhere/libnvidia-ml.so.1")
	if err := w.Fault(); err != nil {
		t.Errorf("without NVML: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
