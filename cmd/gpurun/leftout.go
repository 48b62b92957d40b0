package main

import (
	"slices"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
)

// leaveOut drops those of "all" algorithms that cannot do the job here, and
// notes why. Algorithms that are named stay: they are errors if they cannot.
func (p *collectiveRun) leaveOut() error {
	if !slices.Contains(p.config.Algo, settings.All) {
		return nil
	}
	var kept, optional, dropped []string
	for _, name := range p.job.Algorithms {
		a, ok := p.what.Algorithm(name)
		if !ok || slices.Contains(p.config.Algo, name) {
			kept = append(kept, name)
			continue
		}
		if why := p.machine.Cannot(a, p.job); why != "" {
			dropped = append(dropped, name+" ("+why+")")
			continue
		}
		kept, optional = append(kept, name), append(optional, name)
	}
	p.leftOut = strings.Join(dropped, ", ")
	if len(kept) == 0 {
		return exit.Usagef("no algorithm of %s can do this: %s", p.what.Name, p.leftOut)
	}
	p.job.Algorithms, p.job.Optional = kept, optional
	return nil
}
