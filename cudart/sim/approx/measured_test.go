package approx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All results of the folder -measured are those of this package.
func TestMeasuredResults(t *testing.T) {
	if *measured == "" {
		t.Skip("needs -measured with results of TestGPUApproximations")
	}
	entries, err := os.ReadDir(*measured)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name, ok := strings.CutPrefix(entry.Name(), "form."); ok {
			compareMeasuredForm(t, name, filepath.Join(*measured, entry.Name()))
			continue
		}
		m := measurementsNamed(t, entry.Name())
		compute := instructionNamed(m.instruction)
		different := 0
		m.read(t, func(a, d uint32) {
			if got := compute(a); got != d {
				if different++; different <= 4 {
					t.Errorf("%s: %#x gives %#x, and on the GPU %#x", m.instruction, a, got, d)
				}
			}
		})
		t.Logf("%s: %d of %d results differ", entry.Name(), different, m.count)
	}
}

// instructionNamed finds an instruction by the name of a file: the operation, with the suffix nf
// where it is without .ftz.
func instructionNamed(file string) func(uint32) uint32 {
	op, subnormal := strings.CutSuffix(file, "nf")
	op = strings.TrimSuffix(op, "all")
	return Named(op, !subnormal && op != "tanh")
}
