package check

import (
	"fmt"
	"slices"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/collective"
)

// arch is a compute capability of the devices.
type arch struct{ major, minor int }

func (a arch) sm() int { return 10*a.major + a.minor }

func (a arch) String() string { return fmt.Sprintf("%d.%d", a.major, a.minor) }

// The compute capabilities of --sim-arch: usually the newest one, and of products those with kernels of their own.
var (
	usualArch     = arch{10, 0}
	archOfProduct = []arch{{8, 0}, {9, 0}}
)

// parseArch reads a compute capability.
func parseArch(word string) (a arch, err error) {
	if !slices.Contains(settings.SimArches(), word) {
		return a, suggest.Unknown("compute capability", word, settings.SimArches())
	}
	_, err = fmt.Sscanf(word, "%d.%d", &a.major, &a.minor)
	return a, err
}

func (o *Options) readArches() error {
	for _, word := range words(o.arch) {
		a, err := parseArch(word)
		if err != nil {
			return exit.Usagef("--sim-arch: %w", err)
		}
		o.Arches = appendOnce(o.Arches, a)
	}
	return nil
}

// arches are those of collectives.
func (o *Options) arches() []arch {
	if len(o.Arches) == 0 {
		return []arch{usualArch}
	}
	return o.Arches
}

// archesOf are those of a kernel file. If none is asked for, that is the usual one, or another one that it has a kernel
// for: code for sm_90a runs on devices of compute capability 9.0 alone.
func (o *Options) archesOf(a *collective.Algorithm, d collective.DType, op collective.Op, world int) []arch {
	if len(o.Arches) > 0 {
		return o.Arches
	}
	all := []arch{usualArch}
	for _, word := range settings.SimArches() {
		if on, err := parseArch(word); err == nil {
			all = append(all, on)
		}
	}
	for _, on := range all {
		if _, ok := a.Find(d, op, collective.NoEpilogue, world, on.sm()); ok {
			return []arch{on}
		}
	}
	return all[:1]
}
