package outcome

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/worker/result"
)

// A file that cannot be written fails a run that has not failed, and else is only said.
func TestConclude(t *testing.T) {
	t.Setenv(githubActions, "")
	folder := t.TempDir()
	died, drawing := &exit.Error{Code: exit.WorkerDied, Err: errors.New("rank 1 died")}, errors.New("drawing: disk full")
	for name, c := range map[string]struct {
		file             string
		ended, unwritten error
		code             int
		said, unsaid     string
	}{
		"fine":              {"fine.json", nil, nil, exit.OK, "", ""},
		"failed":            {"failed.json", died, nil, exit.WorkerDied, "", "rank 1 died"},
		"unwritten":         {"missing/x.json", nil, nil, exit.Environment, "", "missing/"},
		"failed, unwritten": {"missing/x.json", died, nil, exit.WorkerDied, "missing/", "rank 1 died"},
		"undrawn":           {"undrawn.json", nil, drawing, exit.Environment, "", "disk full"},
		"failed, undrawn":   {"both.json", died, drawing, exit.WorkerDied, "gpurun: drawing: disk full\n", "rank 1 died"},
	} {
		var stderr bytes.Buffer
		file := filepath.Join(folder, c.file)
		err := Conclude(&program.Invocation{Err: &stderr}, "gpurun x", settings.Config{OutputFile: file}, result.Report{},
			c.ended, c.unwritten)
		if exit.Code(err) != c.code || !strings.Contains(exit.Describe(err), c.unsaid) || (c.unsaid == "") != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(stderr.String(), c.said) || (c.said == "") != (stderr.Len() == 0) {
			t.Errorf("%s: said %q", name, stderr.String())
		}
		if _, err := os.Stat(file); (err == nil) != !strings.HasPrefix(c.file, "missing/") {
			t.Errorf("%s: the report: %v", name, err)
		}
	}
}

// A report says how gpurun ends, whatever is left to be said.
func TestOf(t *testing.T) {
	unsaid := errors.New("more")
	if err := Of(result.Report{Passed: true}, nil); err != nil {
		t.Error(err)
	}
	if err := Of(result.Report{Passed: true}, unsaid); err != unsaid {
		t.Error(err)
	}
	err := Of(result.Report{ExitCode: exit.Timeout, Failure: "rank 1 hung"}, unsaid)
	var ended *exit.Error
	if !errors.As(err, &ended) || ended.Code != exit.Timeout || ended.Err != unsaid ||
		!strings.Contains(ended.Said, "rank 1 hung") {
		t.Errorf("%+v", err)
	}
}
