package kernelfile

import "path/filepath"

// PathUse is a path that a file names, for one call.
type PathUse struct {
	Text string // as in the file, with its names filled in
	Path string // from the working directory, as it is opened
	Line int
	// Outside: the path is absolute, or leaves the folder of the file. The command line shows such paths before it opens
	// them. Symbolic links are not followed.
	Outside bool
}

// Paths are the paths of a call: of modules and sources, in the order of launches, then those of buffers. None is there
// twice.
func (f *File) Paths(call Call) []PathUse {
	var all []PathUse
	seen := map[string]bool{}
	add := func(t Text) {
		text := t.Fill(call)
		if text == "" || seen[text] {
			return
		}
		seen[text] = true
		local := filepath.IsLocal(filepath.FromSlash(text))
		all = append(all, PathUse{Text: text, Path: f.Resolve(text), Line: t.Line, Outside: !local})
	}
	for _, l := range f.allLaunches() {
		add(l.Module)
		add(l.Source)
	}
	for _, b := range f.Buffers {
		add(b.InitFile)
		add(b.ExpectFile)
	}
	return all
}

// Resolve is a path of the file from the working directory.
func (f *File) Resolve(path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(f.Path), path)
}

// allLaunches are Launches, and that of Reference.
func (f *File) allLaunches() []*Launch {
	all := f.Launches()
	if f.Reference != nil {
		all = append(all, f.Reference.Launch)
	}
	return all
}
