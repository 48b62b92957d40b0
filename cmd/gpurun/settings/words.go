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
