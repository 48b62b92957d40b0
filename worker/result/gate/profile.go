package gate

import (
	"errors"
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/rulefile"
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

// cuda is the backend of devices that are GPUs.
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
	var decoded profileText
	if err := rulefile.Decode(file, text, &decoded,
		"there is gpu, and in a [[rule]] world, busbw, latency and source"); err != nil {
		return Profile{}, err
	}
	p := Profile{Name: name, GPUs: decoded.GPU}
	switch {
	case len(p.GPUs) == 0:
		return p, fmt.Errorf("%s: gpu is missing: list the models as \"gpurun list --output json\" names them", file)
	case len(decoded.Rule) == 0:
		return p, fmt.Errorf("%s: there is no [[rule]]", file)
	}
	for i, r := range decoded.Rule {
		rule, err := parseRule(name, r.World, r.BusBW, r.Latency, r.Source)
		if err != nil {
			return p, rulefile.Blame(file, text, i, err)
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
