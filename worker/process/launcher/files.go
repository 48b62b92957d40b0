package launcher

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"gpurun/worker/process/output"
)

// files are the files that the output of one attempt goes to.
type files struct {
	logs           *Logs
	folder         attemptFolder
	stdout, stderr *filtered                  // nil without filters
	prefix         func(localRank int) string // may be nil
}

// open opens the files that all workers share.
func (l *Logs) open(folder attemptFolder) (*files, error) {
	f := &files{logs: l, folder: folder}
	var outErr, errErr error
	f.stdout, outErr = openFiltered(filepath.Join(string(folder), "filtered_stdout.log"), l.StdoutFilters)
	f.stderr, errErr = openFiltered(filepath.Join(string(folder), "filtered_stderr.log"), l.StderrFilters)
	if err := errors.Join(outErr, errErr); err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

func (f *files) close() error { return errors.Join(f.stdout.close(), f.stderr.close()) }

// output says where one worker's streams go, and opens its files.
func (f *files) output(localRank int) (stdout, stderr output.Destination, err error) {
	redirected, redirectedErr := streamsOf(f.logs.Redirects, localRank)
	teed, teedErr := streamsOf(f.logs.Tee, localRank)
	hidden := f.logs.Shown != nil && !f.logs.Shown(localRank)
	open := func(name string, redirected, teed bool, copies *filtered) output.Destination {
		to := output.Destination{Hidden: hidden || redirected && !teed, Line: copies.lineWriter(f.prefixOf(localRank))}
		if redirected || teed {
			var openErr error
			to.File, openErr = os.Create(f.folder.worker(localRank, name))
			err = errors.Join(err, openErr)
		}
		return to
	}
	stdout = open("stdout.log", redirected, teed, f.stdout)
	stderr = open("stderr.log", redirectedErr, teedErr, f.stderr)
	return stdout, stderr, err
}

// prefixOf is the prefix of a worker's lines.
func (f *files) prefixOf(localRank int) string {
	if f.prefix == nil {
		return ""
	}
	return f.prefix(localRank)
}

// streamsOf is whether a worker's streams are redirected, or copied; nil is neither.
func streamsOf(streams func(int) (stdout, stderr bool), localRank int) (stdout, stderr bool) {
	if streams == nil {
		return false, false
	}
	return streams(localRank)
}

// filtered is the file of the lines, of all workers, that contain one of the texts.
type filtered struct {
	texts [][]byte
	mu    sync.Mutex
	file  *os.File
}

func openFiltered(path string, texts []string) (*filtered, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("opening a file for lines of output: %w", err)
	}
	f := &filtered{file: file}
	for _, text := range texts {
		f.texts = append(f.texts, []byte(text))
	}
	return f, nil
}

func (f *filtered) close() error {
	if f == nil {
		return nil
	}
	return f.file.Close()
}

// lineWriter returns the function that writes a worker's lines to the file if they match,
// or nil without a filter.
func (f *filtered) lineWriter(prefix string) func(line []byte) error {
	if f == nil {
		return nil
	}
	return func(line []byte) error {
		for _, text := range f.texts {
			if bytes.Contains(line, text) {
				return f.write(prefix, line)
			}
		}
		return nil
	}
}

func (f *filtered) write(prefix string, line []byte) error {
	text := append(append([]byte(prefix), bytes.TrimRight(line, "\r\n")...), '\n')
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.file.Write(text)
	return err
}
