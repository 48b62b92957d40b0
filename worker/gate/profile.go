package gate

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// Profile holds the thresholds of a GPU model. The folder configs/thresholds has
// those that ship in the binary, in TOML:
//
//	gpu = ["NVIDIA H200"]
//
//	[[rule]]
//	world = 4
//	busbw = "allreduce/twoshot@>=64M:260"
//	source = "measured by gpurun, 2026-11-21, less 15%"
type Profile struct {
	Name string
	GPUs []string // models, as the driver names them
	// Rules by number of ranks.
	Rules []ProfileRule
}

// ProfileRule is a threshold for a number of ranks.
type ProfileRule struct {
	World int
	Rule
}

// rules lists the rules for a number of ranks.
func (p Profile) rules(world int) []Rule {
	var all []Rule
	for _, r := range p.Rules {
		if r.World == world {
			all = append(all, r.Rule)
		}
	}
	return all
}

// fits reports whether all devices are GPUs of the profile's models.
func (p Profile) fits(devices []cudart.Info) bool {
	return len(devices) > 0 && !slices.ContainsFunc(devices, func(d cudart.Info) bool {
		return d.Backend != cuda || !slices.Contains(p.GPUs, d.Name)
	})
}

// cuda is what devices that are GPUs have as their backend.
const cuda = "cuda"

// profileText is a profile as TOML.
type profileText struct {
	GPU  []string `toml:"gpu"`
	Rule []struct {
		World   int    `toml:"world"`
		BusBW   string `toml:"busbw"`
		Latency string `toml:"latency"`
		Source  string `toml:"source"`
	} `toml:"rule"`
}

// ParseProfile reads a profile. Errors begin with the file and, where it is
// known, the line.
func ParseProfile(name, file string, text []byte) (Profile, error) {
	decoded, err := decode(text)
	if err != nil {
		return Profile{}, decodingError(file, err)
	}
	p := Profile{Name: name, GPUs: decoded.GPU}
	switch {
	case len(p.GPUs) == 0:
		return p, fmt.Errorf("%s: gpu is missing: list the models as \"gpurun list --output json\" names them", file)
	case len(decoded.Rule) == 0:
		return p, fmt.Errorf("%s: there is no [[rule]]", file)
	}
	lines := ruleLines(text)
	for i, r := range decoded.Rule {
		rule, err := parseRule(name, r.World, r.BusBW, r.Latency, r.Source)
		if err != nil && i < len(lines) {
			return p, fmt.Errorf("%s:%d: rule %d: %w", file, lines[i], i+1, err)
		} else if err != nil {
			return p, fmt.Errorf("%s: rule %d: %w", file, i+1, err)
		}
		p.Rules = append(p.Rules, rule)
	}
	return p, nil
}

func parseRule(profile string, world int, busbw, latency, source string) (ProfileRule, error) {
	switch {
	case world < 1 || world > collective.MaxRanks:
		return ProfileRule{}, fmt.Errorf("world %d is not between 1 and %d", world, collective.MaxRanks)
	case (busbw == "") == (latency == ""):
		return ProfileRule{}, errors.New("it needs either busbw or latency")
	case source == "":
		return ProfileRule{}, errors.New("source is missing: say where the figure comes from")
	}
	metric, text := BusBW, busbw
	if latency != "" {
		metric, text = Latency, latency
	}
	rule, err := Parse(metric, text, "profile "+profile+": "+source)
	return ProfileRule{world, rule}, err
}

// decode reads TOML. A bare date where text belongs makes the library panic.
func decode(text []byte) (p profileText, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a date or time stands bare; write it in quotes")
		}
	}()
	err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&p)
	return p, err
}

// decodingError names the line of what is no TOML or has an unknown key.
func decodingError(file string, err error) error {
	var (
		unknown *toml.StrictMissingError
		wrong   *toml.DecodeError
	)
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		line, _ := unknown.Errors[0].Position()
		return fmt.Errorf("%s:%d: unknown key %q; there is gpu, and in a [[rule]] world, busbw, latency and source",
			file, line, strings.Join(unknown.Errors[0].Key(), "."))
	case errors.As(err, &wrong):
		line, _ := wrong.Position()
		return fmt.Errorf("%s:%d: %w", file, line, err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// ruleLines lists the numbers of the lines on which the rules begin.
func ruleLines(text []byte) []int {
	var numbers []int
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "[[rule]]") {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}
