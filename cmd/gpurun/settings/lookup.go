package settings

import (
	"cmp"
	"os"
	"slices"

	"gpurun/cmd/gpurun/torchrun"
)

// Lookup finds the value of one of torchrun's flags in the environment, by
// gpurun's name and by torchrun's, or else in the configuration file, or in the
// Slurm step.
func (s *Sources) Lookup(flag string) (text, source string) {
	for _, name := range []string{environmentName(flag), torchrun.Variable(flag)} {
		if text := os.Getenv(name); text != "" {
			return text, name
		}
	}
	if s.v.InConfig(flag) {
		return s.v.GetString(flag), cmp.Or(s.Source(flag), flag)
	}
	f := s.fallbacks[flag]
	return f.text, f.source
}

// givenIn finds what the user gave for a flag, on a line for commands or elsewhere. Without
// such a line, flags are those of the sources.
func (s *Sources) givenIn(line *torchrun.Line) func(flag string) string {
	if line == nil {
		return s.given
	}
	return func(flag string) string {
		for _, set := range slices.Backward(line.Settings) {
			if set.Flag.Name == flag {
				return set.Value
			}
		}
		text, _ := s.Lookup(flag)
		return text
	}
}

// given returns what the user gave for a key, or "".
func (s *Sources) given(key string) string {
	if s.Source(key) == "" {
		return ""
	}
	return s.v.GetString(key)
}
