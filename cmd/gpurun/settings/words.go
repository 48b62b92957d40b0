package settings

import (
	"gpurun/kernels/collective"
	"gpurun/worker/result"
)

// Words that stand for several, or for none, or switch.
const (
	All  = "all"
	Auto = "auto"
	None = "none"
	On   = "on"
	Off  = "off"
)

// Words of --sim-arch and --sim-memory, which cudart/sim defines.
const (
	DefaultSimArch = "10.0"
	HardwareMemory = "hardware"
	PTXMemory      = "ptx"
)

// SimArches are the compute capabilities that a simulated device can have.
func SimArches() []string { return []string{"8.0", "8.6", "8.9", "9.0", DefaultSimArch} }

func epilogueWords() []string {
	words := []string{None}
	for _, e := range collective.EpilogueKinds() {
		words = append(words, string(e))
	}
	return words
}

func outputFormats() []string {
	var words []string
	for _, f := range result.Formats() {
		words = append(words, string(f))
	}
	return words
}
