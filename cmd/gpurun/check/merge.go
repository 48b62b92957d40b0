package check

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gpurun/cmd/gpurun/checkreport"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	engine "gpurun/cudart/sim/check"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// merge joins what explorations have found: each finding once.
type merge struct {
	plan       *Plan
	result     checkreport.Report
	known      map[string]int // index in found
	found      []merged
	incomplete []string
	kernels    [][]engine.KernelUse // by case
	shrinkLeft int                  // runs
	shrinkTime time.Duration        // that is left
	cut        bool                 // the check was interrupted
	stderr     io.Writer            // for warnings
}

// merged is a finding of some cases.
type merged struct {
	engine.Found
	request request
	planned plannedCase // the first that has it, and its name
	name    string
}

func newMerge(p *Plan, a *program.Invocation) *merge {
	m := &merge{
		plan: p, known: map[string]int{}, stderr: a.Err, shrinkLeft: allShrinkRuns, shrinkTime: allShrinkTime,
		kernels: make([][]engine.KernelUse, len(p.cases)),
	}
	m.result = checkreport.Report{
		Schema: checkreport.Schema, Version: program.Version(), Command: a.Args, Seed: p.options.Seed,
	}
	for _, c := range p.cases {
		m.result.Cases = append(m.result.Cases, c.report())
	}
	return m
}

// add adds what an exploration of a case has found.
func (m *merge) add(number int, c plannedCase, e *engine.Explored, took time.Duration) {
	r := &m.result.Cases[number]
	r.Complete = e.Complete && (r.Complete || r.Schedules == 0)
	r.Schedules += e.Coverage.Schedules
	r.Settled = r.Settled || e.Settled
	r.Behaviors += e.Behaviors
	r.Pairs, r.BothOrders = max(r.Pairs, e.Pairs), max(r.BothOrders, e.BothOrders)
	r.Blocks, r.BlocksEnded = r.Blocks+e.Blocks.Begun, r.BlocksEnded+e.Blocks.Ended
	r.Seconds += took.Seconds()
	incomplete := slices.Clone(e.Incomplete)
	if e.Err != nil && !explains(e.Findings) && !errors.Is(e.Err, engine.ErrBudget) { // which Incomplete tells
		incomplete = append(incomplete, reason(e.Err))
	}
	for _, text := range incomplete {
		if strings.HasSuffix(text, ", its budget") && m.plan.options.Replay == "" { // its file says how many
			text += "; allow more by --steps"
		}
		m.isIncomplete(number, text)
	}
	if e.Err == nil {
		m.kernels[number] = append(m.kernels[number], e.Kernels...)
	}
	for _, f := range e.Findings {
		at := m.find(f, c, r.Name())
		r.Findings = appendOnce(r.Findings, at)
	}
}

// isIncomplete notes what was not checked of a case.
func (m *merge) isIncomplete(number int, text string) {
	r := &m.result.Cases[number]
	r.Incomplete = appendOnce(r.Incomplete, text)
	m.incomplete = appendOnce(m.incomplete, r.Collective+" "+r.Algorithm+": "+text)
}

// findUnlaunched notes the kernels of each case that no schedule of any variant has launched. Of gpurun's own modules a
// case takes kernels ahead, such as that of the barrier, which a call may not need.
func (m *merge) findUnlaunched() {
	own := map[string]bool{}
	for _, module := range kernels.Modules() {
		own[module.Name] = true
	}
	for number, uses := range m.kernels {
		if r := m.result.Cases[number]; r.Schedules > 0 && r.Blocks == 0 && kernelfile.IsPath(r.Algorithm) {
			m.isIncomplete(number, "no call has launched a kernel")
		}
		for _, k := range uses {
			if own[k.Module] {
				continue
			}
			launched := func(o engine.KernelUse) bool {
				return o.Launches > 0 && o.Module == k.Module && o.Entry == k.Entry
			}
			if !slices.ContainsFunc(uses, launched) {
				m.isIncomplete(number, fmt.Sprintf("the kernel %s of %s was loaded, and no call has launched it", k.Entry,
					relative(k.Module)))
			}
		}
	}
}

// explains reports whether findings say why a task failed.
func explains(all []engine.Found) bool {
	return slices.ContainsFunc(all, func(f engine.Found) bool {
		return slices.Contains([]engine.Kind{
			engine.Deadlock, engine.OutOfBounds, engine.Misaligned, engine.Freed, engine.BarrierDivergence,
		}, f.Kind)
	})
}

// reason is why a task failed, in one line.
func reason(err error) string {
	var late *collective.TimeoutError
	if errors.As(err, &late) {
		return late.Error()
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// find adds a finding, or counts it if another case had it.
func (m *merge) find(f engine.Found, c plannedCase, name string) (at int) {
	key := f.Key()
	at, ok := m.known[key]
	if !ok {
		at = len(m.found)
		m.known[key] = at
		m.found = append(m.found, merged{Found: f, request: c.command, planned: c, name: name})
		return at
	}
	known := &m.found[at]
	if len(f.Sides) > len(known.Sides) || known.Origin == "" && f.Origin != "" { // a wrong result was traced
		before := known.Found
		*known = merged{Found: f, request: c.command, planned: c, name: name}
		f = before
	}
	known.Count, known.Schedules, known.Alone = known.Count+f.Count, known.Schedules+f.Schedules, known.Alone+f.Alone
	known.Because = cmp.Or(known.Because, f.Because)
	return at
}

// verdict is what the findings amount to, and the exit code.
func verdict(r checkreport.Report) (string, int) {
	deadlocks, mistakes := 0, 0
	for _, f := range r.Findings {
		switch {
		case f.Kind == string(engine.Deadlock):
			deadlocks++
		case f.Kind == string(engine.EndlessLoop): // the check is incomplete
		case !f.Note:
			mistakes++
		}
	}
	switch {
	case mistakes > 0:
		return checkreport.Findings, exit.WrongData
	case deadlocks > 0:
		return checkreport.Deadlock, exit.Timeout
	case len(r.Incomplete) > 0:
		return checkreport.Incomplete, exit.Incomplete
	}
	return checkreport.Clean, exit.OK
}

// describe is a finding for the report, with paths relative to the working directory.
func (m *merge) describe(f merged) checkreport.Finding {
	f.Sides = slices.Clone(f.Sides) // a replay knows the paths as they were
	for i := range f.Sides {
		shorten(&f.Sides[i])
	}
	out := checkreport.Finding{
		Kind: string(f.Kind), Cause: f.Cause, Origin: f.Origin, Where: f.Where, Bytes: f.Bytes, Advice: f.Advice,
		Note: f.Note, Count: f.Count, Schedules: f.Schedules, Case: f.name,
	}
	for _, s := range f.Sides {
		out.Sides = append(out.Sides, side(s))
	}
	if f.Flag != nil {
		flag := *f.Flag
		for i := range flag {
			shorten(&flag[i])
			out.Flag = append(out.Flag, side(flag[i]))
		}
		f.Flag = &flag
	}
	out.Text = strings.Split(strings.TrimSuffix(f.Finding.String(), "\n"), "\n")
	if f.Schedule != nil {
		out.Seed, out.Schedule, out.Shrunk = f.Schedule.Seed, f.Number, f.Shrunk
	}
	return out
}

func side(a engine.Access) checkreport.Side {
	return checkreport.Side{
		Rank: a.Rank, Kernel: a.Kernel, Block: a.Block, Warp: a.Warp, Command: a.Command, Action: a.Kind.String(),
		Instruction: a.Text, Module: a.Module, Line: a.Line, Source: a.Source, InlinedAt: a.InlinedAt,
	}
}

// shorten makes absolute paths below the working directory relative.
func shorten(a *engine.Access) {
	a.Module, a.Source = relative(a.Module), relative(a.Source)
}

func relative(path string) string {
	if !filepath.IsAbs(path) {
		return path
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}
