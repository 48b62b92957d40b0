// Package ptx holds the compiled kernels: generated, committed as text for readers, and embedded in the binary as
// package pack packs them. MANIFEST.json says from which sources and by which compiler; it is for the build alone.
package ptx

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"gpurun/kernels/ptx/pack"
)

//go:embed packed
var files embed.FS

// Source returns the PTX of a module. It unpacks the text in each call.
func Source(module string) ([]byte, error) {
	data, err := read(module)
	if err != nil {
		return nil, err
	}
	text, err := pack.Unpack(data, read)
	if err != nil {
		return nil, fmt.Errorf("unpacking the kernel module %q: %w", module, err)
	}
	return text, nil
}

// read returns the packed file of a module.
func read(module string) ([]byte, error) {
	data, err := files.ReadFile("packed/" + pack.FileOf(module))
	if err != nil {
		return nil, fmt.Errorf("no kernel module %q in this binary: rebuild it with go generate ./kernels", module)
	}
	return data, nil
}

// Manifest records where the PTX came from.
type Manifest struct {
	Compiler string   `json:"compiler"`
	Flags    []string `json:"flags"` // of all modules
	// Modules is sorted by name.
	Modules []Built `json:"modules"`
}

// Built is one compiled module.
type Built struct {
	Name    string   `json:"name"`
	Source  string   `json:"source"` // relative to kernels/
	Arch    string   `json:"arch"`
	ISA     string   `json:"isa"`               // the PTX version, as the compiler names it
	Defines []string `json:"defines,omitempty"` // macros, NAME or NAME=VALUE
	// Hash is the SHA-256 of the source, of all headers of kernels/device, and of those beside the source.
	Hash string `json:"sha256"`
}

// CompilerFile names the file beside the packed modules that holds the name of their compiler. The manifest itself is
// not in the binary: it would be 90 KB of hashes.
const CompilerFile = "COMPILER"

// Compiler names the compiler of the embedded PTX, with its version.
func Compiler() (string, error) {
	text, err := files.ReadFile("packed/" + CompilerFile)
	if err != nil {
		return "", fmt.Errorf("no compiler of the kernels in this binary: rebuild it with go generate ./kernels: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Modules is the number of embedded modules.
func Modules() (int, error) {
	all, err := fs.Glob(files, "packed/"+pack.FileOf("*"))
	return len(all), err
}
