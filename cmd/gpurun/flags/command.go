package flags

import "github.com/spf13/pflag"

// AddCommand adds gpurun's flags that apply to launched commands only. A collective refuses them.
func AddCommand(f *pflag.FlagSet) {
	f.String("health-check", "", "`check` of this machine before each rendezvous round: doctor, smoke, or a shell "+
		"command; a machine that fails leaves the job with exit code 220")
	f.String("health-check-timeout", "", "`seconds` that a health check may take; one that takes longer has failed")
	f.String("signal-grace", "", "`seconds` that a command's processes have to end after gpurun passes a signal on")
}
