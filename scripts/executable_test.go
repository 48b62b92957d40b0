package scripts

import (
	"os"
	"path/filepath"
	"testing"
)

// What begins with an interpreter's name can be run by its own.
func TestScriptsAreExecutable(t *testing.T) {
	files, err := filepath.Glob("*.[ps][yh]")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		begins := len(text) > 2 && string(text[:2]) == "#!"
		if executable := info.Mode()&0o100 != 0; begins != executable {
			t.Errorf("%s begins with #!: %t, is executable: %t; chmod it", name, begins, executable)
		}
	}
}
