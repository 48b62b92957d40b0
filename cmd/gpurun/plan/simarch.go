package plan

import (
	"fmt"
	"slices"

	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// simulateArchOfFiles changes the compute capability of the simulator's devices, unless the user has chosen one, where
// the kernel files do not run on the usual one: code for sm_90a runs on 9.0 alone.
func (p *Plan) simulateArchOfFiles(list host.Lister) error {
	if p.Host.Backend != "sim" || p.Sources.Source("sim-arch") != "" || runOn(p.Job.KernelFiles, settings.DefaultSimArch) {
		return nil
	}
	arches := settings.SimArches()
	i := slices.IndexFunc(arches, func(word string) bool { return runOn(p.Job.KernelFiles, word) })
	if i < 0 {
		return nil // the ranks say what the devices lack
	}
	p.Config.SimArch = arches[i]
	found, err := host.Find(p.Config, list)
	if err != nil {
		return p.Sources.NameSource(err)
	}
	p.Host = found
	p.remark(fmt.Sprintf("the simulator's devices have compute capability %s, for which the kernel file is compiled",
		p.Config.SimArch))
	return nil
}

// runOn reports whether devices of a compute capability run all code of kernel files.
func runOn(files []*kernelfile.Bundle, word string) bool {
	device := host.Simulator(settings.Config{SimArch: word})
	for _, b := range files {
		for _, m := range b.Modules {
			if !(collective.Arch{SM: m.SM, Specific: m.Specific}).RunsOn(10*device.Major + device.Minor) {
				return false
			}
		}
	}
	return true
}
