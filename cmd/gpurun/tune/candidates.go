package tune

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/kernels/collective"
	"gpurun/kernels/tuning"
	"gpurun/worker/result"
)

// slowdownLimit is how many times longer than the fastest a candidate may take in a
// short look.
const slowdownLimit = 2

// subject is a collective that is about to be measured for a table.
type subject struct{ *plan.CollectiveRun }

// tune verifies every candidate at one size and then times all at all sizes.
func (p subject) tune(ctx context.Context, a *program.Invocation, progress *session.Progress) (result.Report, error) {
	p.setCandidates()
	fmt.Fprintf(progress.Beside(a.Err), "gpurun: tuning %s: %s\n", p.sample().Calls(),
		strings.Join(p.Job.Algorithms, ", "))
	if report, err := p.verification().Measure(ctx, a, nil, progress); err != nil {
		return report, err
	}
	return p.timing().Measure(ctx, a, nil, progress)
}

// verification runs every candidate at one size, with little timing.
func (p subject) verification() *session.Run {
	v := p.Run
	v.Job.Verify, v.Job.GraphReplays, v.Job.Iterations, v.Job.Warmup = true, min(1, p.Job.GraphReplays), 1, 0
	v.Job.Sizes = []int64{verificationSize(p.Job.Sizes)}
	return &v
}

// timing runs every candidate at all sizes, but for those that are beyond slowdownLimit.
func (p subject) timing() *session.Run {
	t := p.Run
	t.Host.Notice = "" // it has been said
	t.Job.Verify, t.Job.SkipSlowerThan = false, slowdownLimit
	return &t
}

// setCandidates chooses the algorithms and the grids. Those that are most likely
// fast for large sizes come first: slow ones are then skipped soon.
func (p subject) setCandidates() {
	if rest := slices.DeleteFunc(slices.Clone(p.Job.Algorithms), p.lastResort); len(rest) > 0 {
		p.Job.Algorithms = rest
	}
	slices.Reverse(p.Job.Algorithms)
	most := 0
	for _, a := range p.Collective.Algorithms {
		if slices.Contains(p.Job.Algorithms, a.Name) {
			most = max(most, 2*a.Blocks)
		}
	}
	if p.Collective.Shape.Empty {
		return // one block always
	}
	for _, bound := range []int{p.Host.SMs, p.Job.MaxBlocks} {
		if bound > 0 { // else it is unknown, or there is none
			most = min(most, bound)
		}
	}
	p.Job.Blocks = slices.DeleteFunc([]int{128, 96, 64, 32, 16, 8, 4, 2, 1}, func(n int) bool { return n > most })
}

// keepRows leaves out sizes that come to as many rows as the one before: rows that are
// normalized stay whole, and there is one at least.
func (p subject) keepRows() {
	if p.Job.Epilogue != string(collective.RMSNorm) {
		return
	}
	d, _ := collective.ParseDType(p.Job.DTypes[0])
	rows := func(bytes int64) int64 { return max(bytes/(p.Job.Row*int64(d.Size)), 1) }
	p.Job.Sizes = slices.CompactFunc(p.Job.Sizes, func(a, b int64) bool { return rows(a) == rows(b) })
}

// sample is what all samples of the calls have in common.
func (p subject) sample() tuning.Sample {
	e, _ := collective.ParseEpilogue(p.Job.Epilogue) // it is empty where there are none
	return tuning.Sample{Collective: p.Collective.Name, World: p.Host.Ranks, Epilogue: e, Hidden: p.Job.Row}
}

// lastResort reports whether an algorithm is no candidate beside others: it is
// naive, a library's, which auto never takes, or does not run in place where others do.
func (p subject) lastResort(name string) bool {
	a, ok := p.Collective.Algorithm(name)
	return ok && (name == plan.Naive || a.Needs.Library != "" || a.Needs.SeparateOutput && p.places() > 1)
}

// places counts the ways to place a call's buffers: out of place and in place.
func (p subject) places() int {
	if _, _, _, ok := p.Collective.Shape.InPlace(0); ok {
		return 2
	}
	return 1
}

// verificationSize is the largest that is verified in little time, and so keeps
// most blocks busy.
func verificationSize(sizes []int64) int64 {
	const most = 1 << 20
	best := sizes[0]
	for _, bytes := range sizes {
		if bytes <= most {
			best = bytes
		}
	}
	return best
}

// samples are what the results say about candidates that make sense: a grid much
// larger than the algorithm's own is no larger in truth, and a call of no bytes leaves
// nothing to choose. Of a call out of place and in place counts the slower, and neither if
// the other was skipped. Sizes that come to the same bytes are one sample, the slowest.
func (p subject) samples(results []result.Result) []tuning.Sample {
	times := map[tuning.Sample]map[bool]float64{} // by whether the call was in place
	var order []tuning.Sample
	for _, r := range results {
		if a, ok := p.Collective.Algorithm(r.Algorithm); ok && a.File == "" && r.Blocks > 2*a.Blocks {
			continue
		}
		if r.Bytes == 0 && !p.Collective.Shape.Empty {
			continue
		}
		s := p.sample()
		s.Bytes, s.Algorithm, s.Blocks = r.Bytes, r.Algorithm, r.Blocks
		if times[s] == nil {
			times[s] = map[bool]float64{}
			order = append(order, s)
		}
		times[s][r.InPlace] = max(times[s][r.InPlace], r.Time.P50)
	}
	var samples []tuning.Sample
	for _, s := range order {
		if micros := times[s]; len(micros) == p.places() {
			s.Micros = max(micros[false], micros[true])
			samples = append(samples, s)
		}
	}
	return samples
}
