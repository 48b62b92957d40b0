package kernelcode

import (
	"path/filepath"
	"strings"
)

// resolve makes a path of a kernel file one that can be opened: it is relative to the file's folder. outside says that
// it is absolute or leaves that folder.
func resolve(file, path string) (resolved string, outside bool) {
	folder := filepath.Dir(file)
	if filepath.IsAbs(path) {
		return filepath.Clean(path), true
	}
	return filepath.Join(folder, path), !filepath.IsLocal(path) || leaves(folder, path)
}

// leaves reports whether a path leads out of the folder by a symbolic link.
func leaves(folder, path string) bool {
	top, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false // reading it says why
	}
	real, err := filepath.EvalSymlinks(filepath.Join(folder, path))
	if err != nil {
		return false
	}
	inside, err := filepath.Rel(top, real)
	return err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator))
}
