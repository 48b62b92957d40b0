package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gpurun/cudart/sim/approx"
)

// measurementsFolder is where tests record what a GPU computes, for the flag -measured of package approx.
const measurementsFolder = "GPURUN_MEASUREMENTS"

// recorded are the results that package approx derives its tables from.
var recorded = []struct {
	op                   string
	first, stride, count uint64
}{
	{"rcp", 0x3f800000, 1, 1 << 23},
	{"rsqrt", 0x3f800000, 1, 1 << 24},
	{"sqrt", 0x3f800000, 1, 1 << 24},
	{"ex2", 0x3f000000, 1, 1 << 23},
	{"ex2", 0x3f800000, 1, 1 << 23},
	{"lg2", 0x3f000000, 1, 1 << 23},
	{"lg2", 0x3f800000, 1, 1 << 23},
	{"sin", 0x3e800000, 1, 1 << 24},
	{"sin", 0x3f800000, 1, 1 << 24},
	{"tanh", 0x3e800000, 1, 1 << 24},
	{"tanh", 0x3f800000, 1, 1 << 24},
	{"tanhall", 0, 8192, 1 << 19},
}

// recordSweep appends those of the recorded results that are among the results for operands from first
// on.
func recordSweep(t *testing.T, in approx.Instruction, results []byte, first uint64) {
	t.Helper()
	folder := os.Getenv(measurementsFolder)
	if folder == "" || in.FTZ == (in.Op == "tanh") {
		return
	}
	for _, m := range recorded {
		if m.op != in.Op && m.op != in.Op+"all" {
			continue
		}
		var data []byte
		end := min(first+uint64(len(results)/4), m.first+m.stride*m.count)
		for a := max(first, m.first); a < end; a += m.stride {
			data = append(data, results[4*(a-first):4*(a-first)+4]...)
		}
		appendFile(t, filepath.Join(folder, fmt.Sprintf("%s.%08x.%d.%d", m.op, m.first, m.stride, m.count)), data)
	}
}

// recordResults records the results of another form.
func recordResults(t *testing.T, name string, results []byte) {
	t.Helper()
	if folder := os.Getenv(measurementsFolder); folder != "" {
		appendFile(t, filepath.Join(folder, "form."+name), results)
	}
}

func appendFile(t *testing.T, name string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(data)
	if closed := f.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
}
