package check

import (
	"gpurun/cudart/sim/check/schedule"
)

// Report is what a run has found.
type Report struct {
	Seed     uint64
	Findings []Finding
	// Incomplete lists what the run executed and did not check, and why it ended early. A report with an entry is no
	// clean one.
	Incomplete []string
	// Trace is a digest of all decisions of the scheduler and of all observed accesses.
	Trace uint64
	// Behavior is a digest of the order of strong accesses to each word.
	Behavior uint64
	pairs    []sitePair
	orders   map[uint64]bool // pairs with their launches: see run.pairs
	// Schedule is how to run the very same again. Explore leaves it out where nothing was found.
	Schedule *schedule.Schedule
	// Steps are those of the scheduler, WarpInstructions those of the kernels that have ended.
	Steps            int
	WarpInstructions uint64
	Blocks           Blocks
	Kernels          []KernelUse
	// Results are those of Rank.Result, by rank and name.
	Results []Result
}

// Clean reports whether the run has checked everything, and found nothing.
func (r *Report) Clean() bool { return len(r.Findings)+len(r.Incomplete) == 0 }

func (r *run) report() *Report {
	report := &Report{
		Incomplete: r.incomplete, Trace: uint64(r.trace), Steps: r.steps, WarpInstructions: r.instructions,
		Behavior: r.behavior.digest(), Results: r.sortedResults(), Blocks: r.allBlocks(), Kernels: r.kernels,
	}
	report.pairs, report.orders = r.pairs()
	for _, f := range r.detector.Findings() {
		if !f.Hardware || r.checker.cfg.Model == ModelPTX {
			report.Findings = append(report.Findings, r.finding(&f))
		}
	}
	report.Findings = append(report.Findings, r.otherFindings()...)
	report.Findings = append(report.Findings, r.noted.findings...)
	report.Findings = append(report.Findings, r.taskFindings()...)
	return report
}

// digest mixes numbers into 64 bits.
type digest uint64

func (d *digest) mix(values ...uint64) {
	for _, v := range values {
		x := (uint64(*d) ^ v) * 0x9e3779b97f4a7c15
		*d = digest(x ^ x>>29)
	}
}
