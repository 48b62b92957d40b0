package tune

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"gpurun/cmd/gpurun/kernelcode"
)

// The grid that the message advises is one that kernel files may have, and that tune measures.
func TestAdvisedGrid(t *testing.T) {
	text, err := os.ReadFile("../../../kernels/examples/oneshot.toml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "oneshot.toml")
	text = regexp.MustCompile(`(?m)^grid = .*$`).ReplaceAll(text, []byte(`grid = "`+gridOfBlocks+`"`))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	f, _, err := kernelcode.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !f.TakesBlocks() {
		t.Errorf("the grid %s does not depend on blocks", gridOfBlocks)
	}
}
