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
	switch {
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name a file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a device, a pipe or a socket: name a regular file", path)
	case info.Size() > most:
		return nil, fmt.Errorf("%s has %d bytes, more than the %d that it may have: is it the right file?", path, info.Size(), most)
	}
	return os.ReadFile(path)
}
