package plan

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/configs"
	"gpurun/worker/result/gate"
)

// maxProfileBytes is plenty for a profile of thresholds.
const maxProfileBytes = 1 << 20

// Thresholds reads what results are to be held against.
func Thresholds(s *settings.Sources, c settings.Config) (gate.Plan, error) {
	var plan gate.Plan
	for _, x := range []struct {
		key    string
		metric gate.Metric
		texts  []string
	}{
		{"min-busbw", gate.BusBW, c.MinBusBW},
		{"max-latency", gate.Latency, c.MaxLatency},
	} {
		for _, text := range x.texts {
			rule, err := gate.Parse(x.metric, text, cmp.Or(s.Source(x.key), x.key))
			if err != nil {
				return plan, s.Invalid(x.key, err)
			}
			plan.Rules = append(plan.Rules, rule)
		}
	}
	return plan, setProfile(s, &plan, c.Profile)
}

// setProfile reads the profile of a name, or of a file.
func setProfile(s *settings.Sources, plan *gate.Plan, word string) error {
	if word == settings.None {
		return nil
	}
	builtIn, err := builtInProfiles()
	if err != nil {
		return err
	}
	if word == settings.Auto {
		plan.Auto = builtIn
		return nil
	}
	words := []string{settings.Auto, settings.None}
	for _, p := range builtIn {
		if words = append(words, p.Name); p.Name == word {
			plan.Profile = &p
			return nil
		}
	}
	text, err := settings.ReadFile(word, maxProfileBytes)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(word, "/.") {
		return s.Invalid("profile", suggest.Unknown("profile", word, words))
	} else if err != nil {
		return s.Invalid("profile", err)
	}
	p, err := gate.ParseProfile(word, word, text)
	if err != nil {
		return s.Invalid("profile", err)
	}
	plan.Profile = &p
	return nil
}

// builtInProfiles reads the thresholds of package configs.
func builtInProfiles() ([]gate.Profile, error) {
	files, err := fs.Glob(configs.Thresholds, "thresholds/*.toml")
	if err != nil {
		return nil, fmt.Errorf("listing the built-in thresholds: %w", err)
	}
	var profiles []gate.Profile
	for _, file := range files {
		text, err := fs.ReadFile(configs.Thresholds, file)
		if err != nil {
			return nil, fmt.Errorf("reading the built-in thresholds: %w", err)
		}
		p, err := gate.ParseProfile(strings.TrimSuffix(path.Base(file), ".toml"), file, text)
		if err != nil {
			return nil, fmt.Errorf("reading the built-in thresholds: %w", err)
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}
