package litmus

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Expectations are verdicts by the path or the name of a test's file.
type Expectations map[string]bool

// ReadExpectations reads lines of a path and a verdict: 1 where the condition holds as quantified, 0 where not.
func ReadExpectations(r io.Reader) (Expectations, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = 2
	in.Comment = '#'
	rows, err := in.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("reading expected verdicts: %w", err)
	}
	e := Expectations{}
	for i, row := range rows {
		verdict := strings.TrimSpace(row[1])
		if verdict != "0" && verdict != "1" {
			return nil, fmt.Errorf("line %d of the expected verdicts: %q is neither 0 nor 1", i+1, verdict)
		}
		e[filepath.ToSlash(filepath.Clean(strings.TrimSpace(row[0])))] = verdict == "1"
	}
	return e, nil
}

// Verdict is the one of a file: that of the longest path that the file's path ends in.
func (e Expectations) Verdict(path string) (holds, known bool) {
	path = filepath.ToSlash(filepath.Clean(path))
	for path != "" {
		if holds, known = e[path]; known {
			return holds, true
		}
		_, path, _ = strings.Cut(path, "/")
	}
	return false, false
}
