package dl

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// checkELF says why a file that exists cannot be loaded into this process, as far as its ELF header
// tells. The loader itself reports a library for another processor as absent.
func checkELF(path string) error {
	if !strings.ContainsRune(path, filepath.Separator) {
		return nil // found by the loader, if at all
	}
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	file, err := elf.Open(path)
	if bad := (*elf.FormatError)(nil); errors.As(err, &bad) {
		return fmt.Errorf("it is not a shared library: %w", err)
	}
	if err != nil {
		return fmt.Errorf("its header cannot be read, as in a file that was cut short: %w", err)
	}
	defer file.Close()
	if want, known := machines[runtime.GOARCH]; known && file.Machine != want {
		return fmt.Errorf("it is for another processor, %s, and gpurun runs on %s", file.Machine, want)
	}
	return nil
}

// machines are the ELF machine types of the processors that gpurun is built for, by GOARCH.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
