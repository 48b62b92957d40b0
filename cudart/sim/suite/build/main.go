// Command build compiles the sources of the suite that have changed. Run it by go generate ./cudart/sim/suite.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"gpurun/cudart/sim/suite"
)

// compiler is Debian's name for the clang whose output is committed.
const compiler = "clang-22"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "building the suite:", err)
		os.Exit(1)
	}
}

func run() error {
	sources, err := suite.Sources()
	if err != nil {
		return err
	}
	for _, s := range sources {
		if err := build(s); err != nil {
			return err
		}
	}
	return nil
}

// comment matches a comment of the compiler to the end of its line, blank a line that has nothing else. They are
// a fifth of the text. No string of the suite's PTX holds two slashes.
var (
	comment = regexp.MustCompile(`[ \t]*//[^\n]*`)
	blank   = regexp.MustCompile(`(?m)^[ \t]*\n`)
)

// build compiles a source, unless its PTX is fresh. go generate runs in the folder of the package.
func build(s suite.Source) error {
	stamp, err := s.Stamp()
	if err != nil {
		return err
	}
	if old, err := s.PTX(); err == nil && bytes.HasPrefix(old, []byte(stamp)) {
		return nil
	}
	args := append(slices.Clone(suite.Flags), "--cuda-gpu-arch="+s.Arch, "-Xclang", "-target-feature", "-Xclang", s.ISA,
		s.Name+".cu", "-o", "-")
	cmd := exec.Command(compiler, args...)
	cmd.Dir, cmd.Stderr = suite.Folder, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("compiling %s: %w (on Debian: apt-get install %s)", s.Name, err, compiler)
	}
	text = blank.ReplaceAll(comment.ReplaceAll(text, nil), nil)
	return os.WriteFile(filepath.Join(suite.Folder, s.Name+".ptx"), append([]byte(stamp), text...), 0o644)
}
