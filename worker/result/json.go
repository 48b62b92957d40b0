package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gpurun/cudart"
)

// jsonDocument prints the whole report at the end.
type jsonDocument struct{ w io.Writer }

func (jsonDocument) Begin(Report) error   { return nil }
func (jsonDocument) Add(Result) error     { return nil }
func (j jsonDocument) End(r Report) error { return WriteJSON(j.w, r) }

// WriteJSON writes the report as one JSON object.
func WriteJSON(w io.Writer, r Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r.withLists())
}

// withLists turns nil lists into empty ones, so that JSON has [] and not null.
func (r Report) withLists() Report {
	if r.Command == nil {
		r.Command = []string{}
	}
	if r.Devices == nil {
		r.Devices = []cudart.Info{}
	}
	if r.Results == nil {
		r.Results = []Result{}
	}
	return r
}

// jsonLines prints a line for each result, and at the end a line with the rest of the
// report. Only that one has the key "passed".
type jsonLines struct{ w io.Writer }

func (jsonLines) Begin(Report) error { return nil }

func (j jsonLines) Add(r Result) error { return json.NewEncoder(j.w).Encode(r) }

func (j jsonLines) End(r Report) error {
	type rest struct {
		Report
		Results []Result `json:"results,omitempty"` // hides the report's
	}
	return json.NewEncoder(j.w).Encode(rest{Report: r.withLists()})
}

// WriteFile writes the report as JSON, as [Replace] does.
func WriteFile(path string, r Report) error {
	return Replace(path, func(w io.Writer) error { return WriteJSON(w, r) })
}

// Replace writes a temporary file in the folder of path, and renames it to path, so that
// a reader never sees half a document. Of a symbolic link, the file that it names is replaced.
func Replace(path string, write func(io.Writer) error) (err error) {
	if path, err = resolveLinks(path); err != nil {
		return err
	}
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("writing results to %s: %w", path, err)
		}
	}()
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// WriteText writes a text as [Replace] does. A file that is not regular, such as a pipe, gets the text itself.
func WriteText(path string, text []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, text, 0o644)
	}
	return Replace(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// CheckFile returns the error that Replace would fail with, before there are results to
// write. It refuses "-", and names the option that writes to standard output.
func CheckFile(path string) error {
	if path == "-" {
		return errors.New("cannot write results to -: they go to files, and with --output json to standard output; " +
			"a file of that name is ./-")
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("cannot write results to %s: it is no regular file", path)
	}
	path, err := resolveLinks(path)
	if err != nil {
		return err
	}
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// resolveLinks returns the file that a path names, through any symbolic links. A link to a
// file that does not exist is an error.
func resolveLinks(path string) (string, error) {
	if _, err := os.Lstat(path); err != nil {
		return path, nil // a new file
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("cannot write results to %s: it is a symbolic link to a file that does not exist (%w); "+
			"remove the link, or name another file", path, err)
	}
	return file, nil
}

// createBeside makes a temporary file in path's directory. It has the permissions of the file
// at path, or those of a new file where there is none.
func createBeside(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%x", filepath.Base(path), rand.Uint64()))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	old, err := os.Stat(path)
	if err != nil {
		return f, nil // path does not exist yet
	}
	if err := f.Chmod(old.Mode().Perm()); err != nil {
		f.Close()
		os.Remove(name)
		return nil, cannotWrite(path, err)
	}
	return f, nil
}

// cannotWrite names path instead of the temporary file that err names.
func cannotWrite(path string, err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return fmt.Errorf("cannot write results to %s: %w", path, err)
}
