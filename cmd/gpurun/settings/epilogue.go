package settings

import (
	"slices"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/collective"
)

// WorksWith reports whether the epilogue of that word works with what a key sets.
func WorksWith(word, key string) bool {
	e, _ := collective.ParseEpilogue(word)
	switch key {
	case "hidden":
		return e.ByRow()
	case "epsilon":
		return e == collective.RMSNorm
	}
	return e == collective.Scale && key == "scale"
}

// checkEpilogues refuses words that are no epilogues, and flags that have nothing to do
// with those that are asked for.
func checkEpilogues(s *Sources, c Config) error {
	for _, word := range c.Epilogue {
		if words := epilogueWords(); !slices.Contains(words, word) {
			return s.Invalid("epilogue", suggest.Unknown("value", word, words))
		}
	}
	for _, key := range []string{"hidden", "scale", "epsilon"} {
		used := slices.ContainsFunc(c.Epilogue, func(word string) bool { return WorksWith(word, key) })
		if !used && s.Flagged(key) {
			return exit.Usagef("--%s does not apply to --epilogue %s", key, strings.Join(c.Epilogue, ","))
		}
	}
	return nil
}
