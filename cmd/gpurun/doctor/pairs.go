package doctor

import (
	"fmt"
	"slices"

	"gpurun/worker/result"
)

// AddPairs adds what a check of all pairs has found, with so many bytes over
// each link. The report may be one of a run that failed. asApart is that the GPUs were
// to run as if they could not reach each other: then the machine is not to blame.
func (d *Diagnosis) AddPairs(r result.Report, bytes int64, asApart bool) {
	d.Ranks, d.Pairs, d.PairBytes = r.Devices, r.Pairs, bytes
	switch {
	case r.Failure != "":
		d.add(fail("pairs", "run it on fewer GPUs, by CUDA_VISIBLE_DEVICES, to find the one at fault; "+
			"see the kernel log (dmesg) for Xid errors",
			"the check of the links between GPUs failed: %s", r.Failure))
	case r.NoPeerAccess != "" && asApart:
		d.add(warn("pairs", "set --p2p and --symm to auto to check the links",
			"the links between GPUs are not checked: %s", r.NoPeerAccess))
	case r.NoPeerAccess != "":
		d.add(warn("pairs", "on a machine without NVLink, turn off ACS and the IOMMU for peer access; "+
			"until then collectives use host memory. To check the GPUs that have peer access, "+
			"name them in CUDA_VISIBLE_DEVICES",
			"the links between GPUs cannot be checked: %s", r.NoPeerAccess))
	case len(r.Devices) == 1:
		d.add(ok("pairs", "one GPU alone has no links to check"))
	case len(r.Devices) == 0 || len(r.Pairs) != links(len(r.Devices)):
		d.add(fail("pairs", "run gpurun --log-level debug doctor, and see what is said about each link",
			"the check of the links between %d GPUs ended after %d of %d links", len(r.Devices), len(r.Pairs),
			links(len(r.Devices))))
	default:
		d.add(d.data(), d.speed())
	}
}

// links is how many links so many GPUs have to each other, one for each direction.
func links(gpus int) int { return gpus * (gpus - 1) }

// AddNoGPU adds that nothing can run on a GPU, and why, unless a finding has failed
// that says more.
func (d *Diagnosis) AddNoGPU(why error) {
	if d.Worst() != Fail {
		d.add(fail("cuda", "see whether nvidia-smi works, and what CUDA_VISIBLE_DEVICES names; "+
			"if it does not, reinstall the driver", "no GPU can be used: %v", why))
	}
}

// data says whether what was written over the links is what was found.
func (d *Diagnosis) data() Finding {
	const advice = "take the GPUs out of service, and see nvidia-smi nvlink -e " +
		"and the kernel log (dmesg) for errors of their links; " +
		"over PCIe, an IOMMU or ACS that redirects peer accesses does this too"
	var problems []string
	for _, p := range d.Pairs {
		for _, side := range []struct {
			found  result.Compared
			reader string
		}{{p.Written, d.rank(p.To)}, {p.ReadBack, d.rank(p.From)}} {
			if side.found.Wrong > 0 {
				problems = append(problems, fmt.Sprintf("%s wrote to %s, where %s reads %d of %d words wrong, the first at %d",
					d.rank(p.From), d.rank(p.To), side.reader, side.found.Wrong, side.found.Words, side.found.First))
			}
		}
	}
	if len(problems) == 0 {
		return ok("pairs", "data written over all %d links is right, read at either end, %s each", len(d.Pairs),
			size(d.PairBytes))
	}
	return listed(fail("pairs", advice, "%s", problems[0]), problems)
}

// listed adds the further problems to a finding that has the first.
func listed(f Finding, problems []string) Finding {
	if further := len(problems) - 1; further > 0 {
		f.Summary += fmt.Sprintf("; and %d more", further)
		f.Details = problems
	}
	return f
}

// simulated reports whether the pairs are the simulator's.
func (d *Diagnosis) simulated() bool { return len(d.Ranks) > 0 && d.Ranks[0].Backend == "sim" }

// rank names the device of a rank as the list of GPUs does, or else the rank.
func (d *Diagnosis) rank(rank int) string {
	if i := d.device(rank); i >= 0 {
		return fmt.Sprintf("GPU %d", d.Devices[i].Index)
	}
	return fmt.Sprintf("rank %d", rank)
}

// device is where the device of a rank stands in the list of GPUs, or -1.
func (d *Diagnosis) device(rank int) int {
	if rank >= len(d.Ranks) {
		return -1
	}
	return slices.IndexFunc(d.Devices, func(g Device) bool { return g.UUID == d.Ranks[rank].UUID })
}

// connection is nvidia-smi's word for how the GPUs of a pair are connected, or "".
func (d *Diagnosis) connection(p result.Pair) string {
	from, to := d.device(p.From), d.device(p.To)
	if from < 0 || to < 0 || len(d.Topology) == 0 {
		return ""
	}
	return d.Topology[from][to]
}
