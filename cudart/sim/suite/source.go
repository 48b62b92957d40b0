package suite

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed kernels
var files embed.FS

// Folder has the sources and their PTX, below this package.
const Folder = "kernels"

// header is included by every source.
const header = "cuda.cuh"

// Source is a file of kernels and how clang compiles it.
type Source struct {
	Name string // of the file, without .cu
	Arch string // sm_90 where the name ends in _sm90, else sm_80
	ISA  string // the least PTX version that has what the kernels use
}

// Flags are those of clang for every source. No contraction: results are those of the operations as they are written.
var Flags = []string{
	"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-std=c++20", "-O3",
	"-ffp-contract=off", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-S",
}

// Sources lists all files.
func Sources() ([]Source, error) {
	names, err := fs.Glob(files, path.Join(Folder, "*.cu"))
	if err != nil {
		return nil, err
	}
	var all []Source
	for _, name := range names {
		s := Source{strings.TrimSuffix(path.Base(name), ".cu"), "sm_80", "+ptx74"}
		if strings.HasSuffix(s.Name, "_sm90") {
			s.Arch, s.ISA = "sm_90", "+ptx80"
		}
		all = append(all, s)
	}
	return all, nil
}

// PTX is what is committed for the source.
func (s Source) PTX() ([]byte, error) { return files.ReadFile(path.Join(Folder, s.Name+".ptx")) }

// Stamp is the first line of a source's PTX: a comment with a hash of all that the PTX is made of.
func (s Source) Stamp() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, Flags, s)
	for _, name := range []string{header, s.Name + ".cu"} {
		text, err := files.ReadFile(path.Join(Folder, name))
		if err != nil {
			return "", fmt.Errorf("hashing %s: %w", s.Name, err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
	}
	return fmt.Sprintf("// Made from %s.cu by go generate; SHA-256 of its sources: %x\n", s.Name, sum.Sum(nil)), nil
}
