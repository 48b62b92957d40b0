package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/torchrun"
	"gpurun/configs"
)

// MisspelledVariables lists the variables of an environment, KEY=VALUE, that gpurun does not read, and that differ in
// one or two letters from one that gpurun reads. Other variables that begin with GPURUN_ may belong to other programs.
func MisspelledVariables(environment []string) (all []string, err error) {
	read, err := readVariables()
	if err != nil {
		return nil, err
	}
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		key, ours := strings.CutPrefix(name, environmentName(""))
		if !ours || slices.Contains(read, key) {
			continue
		}
		if meant := suggest.Typo(key, read); meant != "" {
			all = append(all, fmt.Sprintf("%s is not a setting of gpurun; did you mean %s?", name, environmentName(meant)))
		}
	}
	return all, nil
}

// readVariables are the names of the variables that have settings, less what all begin with.
func readVariables() ([]string, error) {
	defaults, err := Defaults(configs.Default)
	if err != nil {
		return nil, err
	}
	keys := []string{configFlag, "rdzv-token"}
	keys = slices.AppendSeq(keys, maps.Keys(defaults))
	torchrun.New().Flags().VisitAll(func(f *pflag.Flag) { keys = append(keys, f.Name) })
	slices.Sort(keys)
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = strings.TrimPrefix(environmentName(key), environmentName(""))
	}
	return names, nil
}
