package settings

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/kernels/collective"
	"gpurun/worker"
)

// worksWith reports whether the epilogue of that word works with what a key sets.
func worksWith(word, key string) bool {
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
func (s *Sources) checkEpilogues(c Config) error {
	for _, word := range c.Epilogue {
		if words := epilogueWords(); !slices.Contains(words, word) {
			return s.Blame("epilogue", phrase.Unknown("word", word, words))
		}
	}
	for _, key := range []string{"hidden", "scale", "epsilon"} {
		used := slices.ContainsFunc(c.Epilogue, func(word string) bool { return worksWith(word, key) })
		if !used && s.flags.Changed(key) {
			return exit.Usagef("--%s means nothing to --epilogue %s", key, strings.Join(c.Epilogue, ","))
		}
	}
	return nil
}

// setEpilogue sets the epilogue and what it works with: one, with rows of one length.
func (s *Sources) setEpilogue(job *worker.Job, c Config, what *collective.Collective) error {
	if !flags.HasEpilogues(what) {
		return nil
	}
	if len(c.Epilogue) != 1 {
		return s.Blame("epilogue", fmt.Errorf("%q is not one epilogue; only gpurun tune takes several", strings.Join(c.Epilogue, ",")))
	}
	job.Epilogue = c.Epilogue[0]
	if worksWith(job.Epilogue, "hidden") {
		if len(c.Hidden) != 1 {
			return s.Blame("hidden", fmt.Errorf("%s is not one length of rows; only gpurun tune takes several", c.Hidden))
		}
		job.Row = c.Hidden[0]
	}
	if worksWith(job.Epilogue, "scale") {
		job.Scale = c.Scale
	}
	if worksWith(job.Epilogue, "epsilon") {
		job.Epsilon = c.Epsilon
	}
	return nil
}

func epilogueWords() []string {
	words := []string{None}
	for _, e := range collective.EpilogueKinds() {
		words = append(words, string(e))
	}
	return words
}
