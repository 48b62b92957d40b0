package result

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckFile(path); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, wrong()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wrong(), got); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("%d files are left, want only the result", len(entries))
	}
}

// TestTopLevelKeys pins the keys that readers of the JSON rely on.
func TestTopLevelKeys(t *testing.T) {
	var document map[string]json.RawMessage
	if err := json.Unmarshal(render(t, JSONFormat, passed()), &document); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"schema", "version", "command", "world_size", "devices", "results", "passed", "exit_code",
	} {
		if _, ok := document[key]; !ok {
			t.Errorf("there is no key %q", key)
		}
	}
}
