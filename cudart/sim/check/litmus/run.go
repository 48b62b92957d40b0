package litmus

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Summary counts what became of tests.
type Summary struct {
	Tests, Agree, Missed, Unsupported, Failed int
}

// Run explores the tests in files and writes what the model says. A folder stands for all its files that end in
// .litmus. With expectations, only tests that have one are explored, and a test that has another verdict is missed.
func Run(out io.Writer, paths []string, expected Expectations, o Options) (Summary, error) {
	var s Summary
	files, err := filesOf(paths)
	if err != nil {
		return s, err
	}
	for _, path := range files {
		want, known := expected.Verdict(path)
		if expected != nil && !known {
			continue
		}
		s.Tests++
		text, err := os.ReadFile(path)
		if err != nil {
			return s, err
		}
		result, err := Judge(string(text), o)
		var missing *Unsupported
		switch {
		case errors.As(err, &missing):
			s.Unsupported++
			fmt.Fprintf(out, "%s: not modeled: %v\n", path, err)
		case err != nil:
			s.Failed++
			fmt.Fprintf(out, "%s: error: %v\n", path, err)
		case expected == nil:
			fmt.Fprintf(out, "%s: %s", path, result)
		case result.Holds == want:
			s.Agree++
		default:
			s.Missed++
			fmt.Fprintf(out, "%s: the condition %s\n%s", path, missed[want], result)
		}
	}
	return s, nil
}

// missed says how a verdict is not the one that was wanted.
var missed = map[bool]string{true: "does not hold, and must", false: "holds, and must not"}

// filesOf lists files, and those in folders, in order.
func filesOf(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			all = append(all, path)
			continue
		}
		err = filepath.WalkDir(path, func(file string, _ os.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(file, ".litmus") {
				all = append(all, file)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no litmus test in %s; name files, or folders with files that end in .litmus",
			strings.Join(paths, ", "))
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// Judge parses and explores a test.
func Judge(text string, o Options) (*Result, error) {
	test, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return Explore(test, o)
}
