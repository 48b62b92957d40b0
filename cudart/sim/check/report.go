package check

import (
	"gpurun/cudart/sim/check/race"
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
	// Behaviour is a digest of the order of strong accesses to each word.
	Behaviour uint64
	pairs     []sitePair
	orders    map[uint64]bool // pairs with their launches: see run.pairs
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

// Kind says what is wrong.
type Kind string

// The kinds of findings.
const (
	Race Kind = "race" // two accesses that nothing orders, one of them a write
)

// Finding is a mistake, for people. It stands for all findings of its kind and cause at the same instructions.
type Finding struct {
	Kind  Kind
	Cause string // a short phrase, which is the same for all findings of one cause
	// Sides are the accesses or places that took part, in the order in which they were performed; of a race two.
	Sides []Access
	Bytes uint64 // of the memory concerned, that the last side accessed; 0 if no memory is
	Where string // the first of the bytes, such as "rank 1's input at +0x40"
	// Flag is the release and the acquire that would order two sides if their scopes were wider, if there are any.
	Flag   *[2]Access
	Advice string // what to do
	// Waits are all that waits in a deadlock, and in a barrier that is never complete.
	Waits []Wait
	// Note is true for what the PTX memory model forbids and what current hardware does not show.
	Note  bool
	Count int // how often it was seen
}

// Access is one side of a race.
type Access struct {
	Actor
	Kind   race.Kind
	Scope  race.Scope
	Text   string // the instruction, or the command of a stream
	Module string // "" for commands
	Line   int    // in the module's PTX
	Source string // the line of the source that the PTX was made of, or ""
}

// Actor is who performed an access: a warp of a kernel, or a command.
type Actor struct {
	Rank   int
	Kernel string // "" for commands
	Launch int    // of the kernel, from 1 on, among all of the run
	// Cluster is the block's cluster in its grid. Without clusters a block is one.
	Cluster, Block, Warp int
	Command              string // such as "stream 0"
}

func (r *run) report() *Report {
	report := &Report{
		Incomplete: r.incomplete, Trace: uint64(r.trace), Steps: r.steps, WarpInstructions: r.instructions,
		Behaviour: r.behaviour.digest(), Results: r.sortedResults(), Blocks: r.allBlocks(), Kernels: r.kernels,
	}
	report.pairs, report.orders = r.pairs()
	for _, f := range r.detector.Findings() {
		if !f.Hardware || r.checker.cfg.Model == ModelPTX {
			report.Findings = append(report.Findings, r.finding(&f))
		}
	}
	report.Findings = append(report.Findings, r.otherFindings()...)
	report.Findings = append(report.Findings, r.noted.findings...)
	report.Findings = append(report.Findings, r.found...)
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
