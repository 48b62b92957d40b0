package flags

import (
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/workload"
)

// AddInject adds --inject.
func AddInject(f *pflag.FlagSet) {
	f.StringArray("inject", nil,
		"make a `fault` on purpose: corrupt:rank=R,byte=B, kill:rank=R or hang:rank=R; may be repeated")
}

// Injections reads the values of --inject.
func Injections(f *pflag.FlagSet) ([]workload.Injection, error) {
	texts, err := f.GetStringArray("inject")
	if err != nil {
		return nil, err
	}
	var all []workload.Injection
	for _, text := range texts {
		in, err := workload.ParseInjection(text)
		if err != nil {
			return nil, &exit.UsageError{Err: err}
		}
		all = append(all, in)
	}
	return all, nil
}
