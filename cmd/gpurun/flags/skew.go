package flags

import (
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/workload"
)

// AddSkew adds --skew.
func AddSkew(f *pflag.FlagSet) {
	f.StringArray("skew", nil,
		"delay a rank, `RANK=MS`: it enqueues each verified call MS milliseconds late; may be repeated")
}

// Skews reads the values of --skew.
func Skews(f *pflag.FlagSet) ([]workload.Skew, error) {
	texts, err := f.GetStringArray("skew")
	if err != nil {
		return nil, err
	}
	var all []workload.Skew
	for _, text := range texts {
		s, err := workload.ParseSkew(text)
		if err != nil {
			return nil, &exit.UsageError{Err: err}
		}
		all = append(all, s)
	}
	return all, nil
}
