package kernelfile

import (
	"path/filepath"
	"slices"
	"strings"
)

// IsPath reports whether the name of an algorithm is the path of a kernel file: it has a slash, or the extension of
// one.
func IsPath(name string) bool {
	return strings.Contains(name, "/") || slices.Contains([]string{".toml", ".yaml", ".yml", ".json"}, filepath.Ext(name))
}
