package main

import (
	"slices"

	"gpurun/cmd/gpurun/phrase"
	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// collectivesNamed finds collectives; no name stands for all.
func collectivesNamed(words []string) ([]*collective.Collective, error) {
	if len(words) == 0 {
		return kernels.Collectives(), nil
	}
	var found []*collective.Collective
	for _, word := range words {
		what, ok := kernels.Find(word)
		if !ok {
			return nil, phrase.Unknown("collective", word, collectiveNames())
		}
		if !slices.ContainsFunc(found, func(c *collective.Collective) bool { return c.Name == what.Name }) {
			found = append(found, what)
		}
	}
	return found, nil
}

func collectiveNames() []string {
	var names []string
	for _, c := range kernels.Collectives() {
		names = append(names, c.Name)
	}
	return names
}
