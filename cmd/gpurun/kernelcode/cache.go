package kernelcode

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"gpurun/cmd/gpurun/settings"
)

// maxSourceBytes bounds a source file and each file that it includes.
const maxSourceBytes = 16 << 20

// cacheFolder is where compiled code is kept: gpurun/kernels below the user's cache folder.
func cacheFolder() (string, error) {
	top, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(top, "gpurun", "kernels"), nil
}

// cacheKey is a hash of what the output depends on: the words of the command, the compiler by path, size and time of
// its last change, and the contents of the source and of the files that it includes. Only files count that are named in
// quotation marks or angle brackets and lie beside the file that includes them, or in a folder of -I. Others, such as
// the compiler's own headers, do not, and neither does the environment.
func cacheKey(words []string, source string) (string, error) {
	h := sha256.New()
	for _, word := range words {
		fmt.Fprintf(h, "%q\n", word)
	}
	if compiler, err := exec.LookPath(words[0]); err == nil {
		if info, err := os.Stat(compiler); err == nil {
			fmt.Fprintf(h, "%q %d %d\n", compiler, info.Size(), info.ModTime().UnixNano())
		}
	}
	if err := hashSources(h, source, includeFolders(words)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

var includes = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]`)

// hashSources adds a source file and what it includes, each file once.
func hashSources(w io.Writer, source string, folders []string) error {
	pending, seen := []string{source}, []string{source}
	for len(pending) > 0 {
		file := pending[0]
		pending = pending[1:]
		text, err := settings.ReadFile(file, maxSourceBytes)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%q %d\n%s", file, len(text), text)
		for _, found := range includes.FindAllSubmatch(text, -1) {
			included := findInclude(string(found[1]), filepath.Dir(file), folders)
			if included != "" && !slices.Contains(seen, included) {
				seen, pending = append(seen, included), append(pending, included)
			}
		}
	}
	return nil
}

// findInclude finds a file beside the one that includes it, or in one of the folders; "" is not found.
func findInclude(name, beside string, folders []string) string {
	for _, folder := range append([]string{beside}, folders...) {
		path := filepath.Join(folder, name)
		if filepath.IsAbs(name) {
			path = name
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// includeFolders are those of -I in a command.
func includeFolders(words []string) (folders []string) {
	for i, word := range words {
		switch {
		case word == "-I" && i+1 < len(words):
			folders = append(folders, words[i+1])
		case len(word) > 2 && word[:2] == "-I":
			folders = append(folders, word[2:])
		}
	}
	return folders
}

// store puts compiled code into the cache. A reader finds it whole or not at all.
func store(folder, key string, code []byte) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, "new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // once it is renamed there is nothing to remove
	_, err = f.Write(code)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(folder, key))
}
