// Package ptx holds the compiled kernels: generated, committed as text for readers, and embedded in the binary as
// package pack packs them. MANIFEST.json says from which sources and by which compiler.
package ptx

import (
	"embed"
	"encoding/json"
	"fmt"

	"gpurun/kernels/ptx/pack"
)

//go:embed packed
var files embed.FS

//go:embed MANIFEST.json
var manifest []byte

// Source returns the PTX of a module. It unpacks the text in each call.
func Source(module string) ([]byte, error) {
	data, err := files.ReadFile("packed/" + pack.FileOf(module))
	if err != nil {
		return nil, fmt.Errorf("no kernel module %q in this binary: rebuild it with go generate ./kernels", module)
	}
	text, err := pack.Unpack(data, Source)
	if err != nil {
		return nil, fmt.Errorf("unpacking the kernel module %q: %w", module, err)
	}
	return text, nil
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
	Defines []string `json:"defines,omitempty"` // macros, NAME or NAME=VALUE
	// Hash is the SHA-256 of the source, of all headers of kernels/device, and of those beside the source.
	Hash string `json:"sha256"`
}

// ReadManifest returns the manifest of the embedded PTX.
func ReadManifest() (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return m, fmt.Errorf("reading the manifest of the PTX: %w", err)
	}
	return m, nil
}
