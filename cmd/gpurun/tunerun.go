package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gpurun/cmd/gpurun/program"
	"gpurun/kernels/tuning"
	"gpurun/worker/result"
)

// hopeless is how many times longer than the fastest a candidate may take in a
// short look.
const hopeless = 2

// tune verifies every candidate at one size and then times all at all sizes.
func (p *collectiveRun) tune(ctx context.Context, a *program.Invocation, progress *progress) (result.Report, error) {
	p.setCandidates()
	fmt.Fprintf(progress.beside(a.Err), "gpurun: tuning %s: %s\n", p.job.Collective, strings.Join(p.job.Algorithms, ", "))
	if report, err := p.verification().measure(ctx, a, silent{}, progress); err != nil {
		return report, err
	}
	return p.timing().measure(ctx, a, silent{}, progress)
}

// verification runs every candidate at one size, with little timing.
func (p *collectiveRun) verification() *collectiveRun {
	v := *p
	v.job.Verify, v.job.GraphReplays, v.job.Iterations, v.job.Warmup = true, 1, 1, 0
	v.job.Sizes = []int64{verificationSize(p.job.Sizes)}
	return &v
}

// timing runs every candidate that is not hopeless at all sizes.
func (p *collectiveRun) timing() *collectiveRun {
	t := *p
	t.machine.Notice, t.leftOut = "", "" // they have been said
	t.job.Verify, t.job.Hopeless = false, hopeless
	return &t
}

// setCandidates chooses the algorithms and the grids. Those that are most likely
// fast for large sizes come first: the others are then found hopeless soon.
func (p *collectiveRun) setCandidates() {
	if rest := slices.DeleteFunc(slices.Clone(p.job.Algorithms), p.lastResort); len(rest) > 0 {
		p.job.Algorithms = rest
	}
	slices.Reverse(p.job.Algorithms)
	most := 0
	for _, a := range p.what.Algorithms {
		if slices.Contains(p.job.Algorithms, a.Name) {
			most = max(most, 2*a.Blocks)
		}
	}
	if p.what.Shape.Empty {
		return // one block always
	}
	for _, bound := range []int{p.machine.SMs, p.job.MaxBlocks} {
		if bound > 0 { // else it is unknown, or there is none
			most = min(most, bound)
		}
	}
	p.job.Blocks = slices.DeleteFunc([]int{128, 96, 64, 32, 16, 8, 4, 2, 1}, func(n int) bool { return n > most })
}

// lastResort reports whether an algorithm is no candidate beside others: it is
// naive, a library's, which auto never takes, or does not run in place where others do.
func (p *collectiveRun) lastResort(name string) bool {
	a, ok := p.what.Algorithm(name)
	return ok && (name == "naive" || a.Needs.Library != "" || a.Needs.SeparateOutput && p.places() > 1)
}

// places counts the ways to place a call's buffers: out of place and in place.
func (p *collectiveRun) places() int {
	if _, _, _, ok := p.what.Shape.InPlace(0); ok {
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
// larger than the algorithm's own is no larger in truth. Of a call out of place
// and in place counts the slower, and neither if the other was hopeless.
func (p *collectiveRun) samples(results []result.Result) []tuning.Sample {
	times := map[tuning.Sample][]float64{}
	var order []tuning.Sample
	for _, r := range results {
		if a, ok := p.what.Algorithm(r.Algorithm); ok && r.Blocks > 2*a.Blocks {
			continue
		}
		s := tuning.Sample{
			Collective: r.Collective, World: p.machine.Ranks, Bytes: r.Bytes, Algorithm: r.Algorithm, Blocks: r.Blocks,
		}
		if times[s] == nil {
			order = append(order, s)
		}
		times[s] = append(times[s], r.Time.P50)
	}
	var samples []tuning.Sample
	for _, s := range order {
		if micros := times[s]; len(micros) == p.places() {
			s.Micros = slices.Max(micros)
			samples = append(samples, s)
		}
	}
	return samples
}

// silent prints nothing.
type silent struct{}

func (silent) Begin(result.Report) error { return nil }
func (silent) Add(result.Result) error   { return nil }
func (silent) End(result.Report) error   { return nil }
