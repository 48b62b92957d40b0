// Package textfile reads the files that users name. Whoever names a device, a pipe or a huge
// file by mistake is told so, and does not wait for it.
package textfile

import (
	"fmt"
	"os"
)

// Read reads a regular file of so many bytes at most.
func Read(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s: it is no regular file of at most %d bytes", path, most)
	}
	return os.ReadFile(path)
}
