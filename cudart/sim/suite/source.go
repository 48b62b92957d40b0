package suite

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Source is a file of kernels and how clang compiles it.
type Source struct {
	Name string // of the file in kernels/, without .cu
	Arch string // sm_90 where the name ends in _sm90, else sm_80
	ISA  string // the least PTX version that has what the kernels use
}

// Flags are those of clang for every source. No contraction: results are those of the operations as they are written.
var Flags = []string{
	"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-std=c++20", "-O3",
	"-ffp-contract=off", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-S",
}

// header is included by every source.
const header = "cuda.cuh"

// Sources lists the files in folder, which is kernels/.
func Sources(folder string) ([]Source, error) {
	files, err := fs.Glob(os.DirFS(folder), "*.cu")
	if err != nil {
		return nil, err
	}
	var all []Source
	for _, file := range files {
		s := Source{strings.TrimSuffix(file, path.Ext(file)), "sm_80", "+ptx74"}
		if strings.HasSuffix(s.Name, "_sm90") {
			s.Arch, s.ISA = "sm_90", "+ptx80"
		}
		all = append(all, s)
	}
	return all, nil
}

// Stamp is the first line of a source's PTX: a comment with a hash of all that the PTX is made of.
func (s Source) Stamp(folder string) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, Flags, s)
	for _, name := range []string{header, s.Name + ".cu"} {
		text, err := fs.ReadFile(os.DirFS(folder), name)
		if err != nil {
			return "", fmt.Errorf("hashing %s: %w", s.Name, err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
	}
	return fmt.Sprintf("// Made from %s.cu by go generate; SHA-256 of its sources: %x\n", s.Name, sum.Sum(nil)), nil
}
