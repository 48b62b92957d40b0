package dl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Product is a library that users install themselves, in one of several ways:
// its names, the folders where it may be, and the advice where it is missing.
type Product struct {
	Name   string   // "NCCL"
	File   string   // "libnccl.so.2"
	Home   string   // environment variable of the folder above lib or lib64, "NCCL_HOME"
	Wheel  string   // folder within Python's site-packages, "nvidia/nccl/lib"
	System []string // folders of Linux distributions that the loader does not look in
	Pip    string   // the wheel's name, "nvidia-nccl-cu13"
	Flag   string   // the option that names a file, "--nccl-lib"
	Global bool     // its plugins need its functions: see [OpenGlobal]
	Least  Version  // the oldest one that will do
}

// LoadError is a library that cannot be used: it is missing (the error wraps
// [ErrNotFound]), too old (it wraps a [*TooOldError]), or broken. What to do is part
// of the text.
type LoadError struct {
	Product string // "NCCL"
	Err     error
	Advice  string
}

// Error reads "NCCL: what is wrong; what to do".
func (e *LoadError) Error() string { return e.Product + ": " + e.Err.Error() + "; " + e.Advice }

// Unwrap returns what is wrong.
func (e *LoadError) Unwrap() error { return e.Err }

// TooOldError is a library older than gpurun needs.
type TooOldError struct {
	Path        string
	Have, Least Version
}

// Error names both versions.
func (e *TooOldError) Error() string {
	return fmt.Sprintf("%s is version %s, older than %s, which gpurun needs", e.Path, e.Have, e.Least)
}

// Open opens the library at path, or searches for it where path is empty. The
// error is a [*LoadError].
func (p Product) Open(path string) (*Library, error) {
	candidates := []string{withSlash(path)}
	if path == "" {
		candidates = p.candidates(os.Getenv)
	}
	open := Open
	if p.Global {
		open = OpenGlobal
	}
	lib, err := open(candidates...)
	switch {
	case errors.Is(err, ErrNotFound) && path == "":
		return nil, p.fail(&searchError{p.File, candidates}, "install it with pip install "+p.Pip+", or give "+p.Flag+" FILE")
	case errors.Is(err, ErrNotFound):
		return nil, p.fail(err, "give "+p.Flag+" another FILE, or leave it out to have the library searched for")
	case err != nil:
		return nil, p.broken(err)
	}
	return lib, nil
}

// withSlash makes a file of the working folder a path with a slash: without one, the loader
// searches its own folders instead.
func withSlash(path string) string {
	if _, err := os.Stat(path); err == nil && filepath.Base(path) == path {
		return "." + string(filepath.Separator) + path
	}
	return path
}

// Bind finds the functions of an open library in two steps: first those that tell the version,
// then, of a version that is new enough, the others. path is the file that holds the very first of
// them. The error is a [*LoadError].
func (p Product) Bind(lib *Library, first []Binding, ask func() (Version, error),
	others []Binding,
) (path string, v Version, err error) {
	if err := lib.Bind(first...); err != nil {
		return "", v, p.broken(err)
	}
	path = Locate(*first[0].to)
	if v, err = ask(); err != nil {
		return "", v, p.broken(err)
	}
	if err := p.check(path, v); err != nil {
		return "", v, err
	}
	if err := lib.Bind(others...); err != nil {
		return "", v, p.broken(err)
	}
	return path, v, nil
}

// broken is a library that does not load, or loads and is not what it should be.
func (p Product) broken(err error) error {
	return p.fail(err, "install it anew with pip install --force-reinstall "+p.Pip+", or give "+p.Flag+" FILE")
}

// check refuses a version that is too old.
func (p Product) check(path string, have Version) error {
	if !have.Before(p.Least) {
		return nil
	}
	return p.fail(&TooOldError{path, have, p.Least},
		"install a newer one with pip install -U "+p.Pip+", or give "+p.Flag+" FILE")
}

func (p Product) fail(err error, advice string) error {
	return &LoadError{Product: p.Name, Err: err, Advice: advice}
}

// searchError is a search that found nothing.
type searchError struct {
	file       string
	candidates []string
}

func (e *searchError) Error() string {
	var folders []string
	for _, c := range e.candidates {
		if c == e.file {
			folders = append(folders, "the loader's folders (LD_LIBRARY_PATH, ldconfig)")
		} else {
			folders = append(folders, filepath.Dir(c))
		}
	}
	return fmt.Sprintf("looked for %s in %s", e.file, strings.Join(folders, ", "))
}

func (e *searchError) Unwrap() error { return ErrNotFound }

// candidates are the files to try: where the user points first, then where the
// loader looks, then the Python environments, then the distribution's folders.
func (p Product) candidates(getenv func(string) string) []string {
	var files []string
	if home := getenv(p.Home); home != "" {
		files = append(files, filepath.Join(home, "lib", p.File), filepath.Join(home, "lib64", p.File))
	}
	files = append(files, p.File)
	for _, prefix := range pythonPrefixes(getenv) {
		for _, pattern := range []string{"lib*/python3*/site-packages", "lib*/python3*/dist-packages"} {
			packages, _ := filepath.Glob(filepath.Join(prefix, pattern)) // fails on bad patterns only
			for _, folder := range packages {
				files = append(files, filepath.Join(folder, p.Wheel, p.File))
			}
		}
	}
	for _, folder := range p.System {
		files = append(files, filepath.Join(folder, p.File))
	}
	return distinct(files)
}

// pythonPrefixes are the folders that hold a Python's lib: of the environment
// that is active, of the Python on PATH (and, where that is a link, of the one
// behind it), of pip install --user, and of containers that put one in /opt.
func pythonPrefixes(getenv func(string) string) []string {
	var prefixes []string
	for _, variable := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if prefix := getenv(variable); prefix != "" {
			prefixes = append(prefixes, prefix)
		}
	}
	for _, folder := range filepath.SplitList(getenv("PATH")) {
		for _, name := range []string{"python3", "python"} {
			python := filepath.Join(folder, name)
			behind, err := filepath.EvalSymlinks(python)
			if err != nil {
				continue
			}
			for _, file := range []string{python, behind} {
				prefix := filepath.Dir(filepath.Dir(file))
				prefixes = append(prefixes, prefix, filepath.Join(prefix, "local")) // where pip installs on Debian
			}
		}
	}
	if home := getenv("HOME"); home != "" {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	containers, _ := filepath.Glob("/opt/*")
	return append(prefixes, containers...)
}

// distinct drops repetitions and keeps the order.
func distinct(files []string) []string {
	var kept []string
	for _, f := range files {
		if !slices.Contains(kept, f) {
			kept = append(kept, f)
		}
	}
	return kept
}

// MultiarchFolder is Debian's folder of libraries for this processor, such as
// /usr/lib/x86_64-linux-gnu.
func MultiarchFolder() string {
	triplet := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[runtime.GOARCH]
	return filepath.Join("/usr/lib", triplet)
}
