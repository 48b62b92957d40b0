package settings

import (
	"os"
	"path/filepath"
	"testing"
)

// Two outputs do not go to one file, by whatever names.
func TestOutputsDoNotShareAFile(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	file := filepath.Join(folder, "r.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("r.json", "latest.json"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		names [4]string // the further one last
		ok    bool
	}{
		{[4]string{"r.json", "r.xml", "r.prom", "r.svg"}, true},
		{[4]string{"r.json", "", "", ""}, true},
		{[4]string{"new", "./new", "", ""}, false},
		{[4]string{"", "r.json", file, ""}, false},
		{[4]string{"r.json", "", "", "latest.json"}, false},
		{[4]string{"", "", "new", "../" + filepath.Base(folder) + "/new"}, false},
	} {
		c := Config{OutputFile: tt.names[0], JUnit: tt.names[1], Prometheus: tt.names[2]}
		if err := c.CheckFiles(tt.names[3]); (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.names, err)
		}
	}
}
