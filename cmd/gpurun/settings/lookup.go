package settings

import (
	"cmp"
	"os"
	"slices"

	"gpurun/cmd/gpurun/torchrun"
)

// Lookup finds the value of one of torchrun's flags in the environment, by
// gpurun's name and by torchrun's, or else in the configuration file, or among the
// fallbacks. It does not read flags: the caller has read them.
func (s *Sources) Lookup(flag string) (text, source string) {
	if text, name := FromEnvironment(flag); text != "" {
		return text, name
	}
	if s.v.InConfig(flag) {
		return s.v.GetString(flag), cmp.Or(s.Source(flag), flag)
	}
	f := s.fallbacks[flag]
	return f.Text, f.Source
}

// FromEnvironment is the value of one of torchrun's flags in the environment, and the name of the variable.
func FromEnvironment(flag string) (text, name string) {
	for _, name := range []string{environmentName(flag), torchrun.Variable(flag)} {
		if text := os.Getenv(name); text != "" {
			return text, name
		}
	}
	return "", ""
}

// Fallback is the value of a setting that is not set, and the name of its source for messages, such as SLURM_NNODES.
type Fallback struct{ Text, Source string }

// FallBack sets the values of settings that are not set, by key. Keys that only Lookup reads may be among them.
func (s *Sources) FallBack(values map[string]Fallback) {
	s.fallbacks = values
	for key, f := range values {
		if slices.Contains(s.v.AllKeys(), key) {
			s.v.SetDefault(key, f.Text)
		}
	}
}
