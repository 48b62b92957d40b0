package sources

import "slices"

// Fallback is the value of a setting that nobody gave, and what it was made of, by the name
// that the user knows.
type Fallback struct{ Text, Source string }

// FallBack lets settings that nobody gave have these values, by key. Keys that only Lookup
// knows may be among them.
func (s *Sources) FallBack(values map[string]Fallback) {
	s.fallbacks = values
	for key, f := range values {
		if slices.Contains(s.v.AllKeys(), key) {
			s.v.SetDefault(key, f.Text)
		}
	}
}
