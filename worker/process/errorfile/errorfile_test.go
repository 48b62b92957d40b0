package errorfile

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// file writes a file with this text.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "error.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const byPyTorch = `{"message": {"message": "ValueError: bad loss", ` +
	`"extraInfo": {"py_callstack": "Traceback (most recent call last):\n  x\n", "timestamp": "1700000000"}}}`

func TestRead(t *testing.T) {
	tests := map[string]struct {
		text string
		want Record
	}{
		"PyTorch's": {
			byPyTorch, Record{"ValueError: bad loss", "Traceback (most recent call last):\n  x\n", time.Unix(1700000000, 0)},
		},
		"a number": {
			`{"message": {"message": "m", "extraInfo": {"timestamp": 1700000000}}}`,
			Record{Message: "m", Time: time.Unix(1700000000, 0)},
		},
		"a plain string": {`{"message": "out of luck"}`, Record{Message: "out of luck"}},
		"no time":        {`{"message": {"message": "m", "errorCode": 3}}`, Record{Message: "m"}},
		"no number":      {`{"message": {"message": "m", "extraInfo": {"timestamp": "now"}}}`, Record{Message: "m"}},
	}
	for name, test := range tests {
		got, err := Read(file(t, test.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.want, *got); diff != "" {
			t.Error(name, diff)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, path := range map[string]string{
		"nothing":   file(t, ""),
		"no JSON":   file(t, "Traceback"),
		"a list":    file(t, "[]"),
		"other":     file(t, `{"massage": 1}`),
		"number":    file(t, `{"message": 1}`),
		"a folder":  t.TempDir(),
		"very long": file(t, `{"message": "`+strings.Repeat("x", maxBytes)+`"}`),
	} {
		if r, err := Read(path); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestForward(t *testing.T) {
	to := filepath.Join(t.TempDir(), "mine.json")
	for text, want := range map[string]string{
		`{"message": {"message": "m", "extraInfo": {"py_callstack": "c"}, "own": [1]}, "x": 2}`: `{"message":` +
			`{"errorCode":-9,"extraInfo":{"py_callstack":"c"},"message":"m","own":[1]},"x":2}`,
		`{"message": "plain"}`: `{"message": "plain"}`,
		"no JSON":              "no JSON",
	} {
		if err := Forward(file(t, text), to, -9); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(to)
		if err != nil || string(got) != want {
			t.Errorf("%s became %s, %v", text, got, err)
		}
	}
}

func TestWhatIsWrittenCanBeRead(t *testing.T) {
	to := filepath.Join(t.TempDir(), "mine.json")
	want := Record{Message: "rank 1 exited", Callstack: "here\n", Time: time.Unix(1700000000, 0)}
	if err := Write(to, want, 7); err != nil {
		t.Fatal(err)
	}
	got, err := Read(to)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Error(diff)
	}
	data, err := os.ReadFile(to)
	if err != nil || !strings.Contains(string(data), `"errorCode":7`) {
		t.Errorf("wrote %s, %v", data, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(byPyTorch))
	f.Add([]byte(`{"message": "x"}`))
	f.Add([]byte(`{"message": null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := parse(data)
		if changed := withCode(data, 3); err == nil && !json.Valid(changed) {
			t.Fatalf("%q became %q", data, changed)
		}
	})
}
