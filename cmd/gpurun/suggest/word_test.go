package suggest

import (
	"strings"
	"testing"

	"gpurun/kernels/collective"
)

func TestFile(t *testing.T) {
	for name, want := range map[string]string{
		"a.toml": "gpurun kernel a.toml", "b/a.ptx": "gpurun kernel init b/a.ptx", "a.cubin": "gpurun inspect a.cubin",
		"a.cu": "docs/kernel-files.md", "a.json": "gpurun report a.json", "a": "", "toml": "", "a.py": "",
	} {
		if got := File(name); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestAlgorithm(t *testing.T) {
	among := []*collective.Collective{
		{Name: "allgather", Algorithms: []*collective.Algorithm{{Name: "pull"}}},
		{Name: "allreduce", Algorithms: []*collective.Algorithm{{Name: "oneshot"}}},
	}
	want := "--algo chooses algorithms: write gpurun check allreduce --algo oneshot"
	if got := Algorithm("gpurun check", "oneshot", among); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Algorithm("gpurun check", "onshot", among); got != "" {
		t.Errorf("%q for a word that names no algorithm", got)
	}
}
