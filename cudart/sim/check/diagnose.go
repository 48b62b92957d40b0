package check

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/check/schedule"
)

// mostDiagnoses bounds the runs that diagnose.
const mostDiagnoses = 8

// diagnoseAll adds to races that nothing orders what would order them, and to wrong results where they come from.
func (c *Checker) diagnoseAll(e Exploration, all *Explored, task func(*Rank) error) {
	if !e.Diagnose {
		return
	}
	c.diagnoseRaces(all, task)
	c.traceResults(all, task)
}

// traceResults adds to wrong results that nothing else explains where their first wrong elements come from.
func (c *Checker) traceResults(all *Explored, task func(*Rank) error) {
	cfg := c.cfg
	cfg.traces = true
	tracing, err := New(cfg)
	if err != nil {
		return
	}
	reports := map[*schedule.Schedule]*Report{}
	for _, g := range Group(all.Findings) {
		f := &all.Findings[g.First]
		if f.Kind != WrongResult {
			continue
		}
		report := reports[f.Schedule]
		if report == nil && len(reports) < mostDiagnoses {
			report, _ = tracing.replayed(nil, f.Schedule.Turns, task)
			reports[f.Schedule] = report
		}
		if report == nil {
			continue
		}
		same := func(o Finding) bool { return o.Kind == WrongResult && o.Where == f.Where && o.Sides[0] == f.Sides[0] }
		if i := slices.IndexFunc(report.Findings, same); i >= 0 {
			shown := report.Findings[i]
			f.Origin, f.Sides, f.Advice = shown.Origin, shown.Sides, shown.Advice
		}
	}
}

// diagnoseRaces adds to races that nothing orders what would order them. A run tells it of all races that it shows.
func (c *Checker) diagnoseRaces(all *Explored, task func(*Rank) error) {
	cfg := c.cfg
	cfg.diagnoses = true
	known, runs := map[string][]*Finding{}, 0
	for i := range all.Findings {
		f := &all.Findings[i]
		if !isUnordered(&f.Finding) {
			continue
		}
		if known[sitesKey(&f.Finding)] == nil && runs < mostDiagnoses {
			runs++
			diagnosing, err := New(cfg)
			if err != nil {
				return
			}
			r, _ := diagnosing.run(&replay{turns: f.Schedule.Turns}, task)
			for _, d := range r.diagnosed() {
				known[sitesKey(&d)] = append(known[sitesKey(&d)], &d)
			}
		}
		if d := bestOf(&f.Finding, known[sitesKey(&f.Finding)]); d != nil {
			f.Sides, f.Where, f.Bytes, f.Flag, f.Advice = d.Sides, d.Where, d.Bytes, d.Flag, d.Advice
		}
	}
}

// Diagnose adds to the races of a schedule that nothing orders what would order them: see Exploration.Diagnose.
func (c *Checker) Diagnose(e *Explored, task func(*Rank) error) {
	c.diagnoseAll(Exploration{Diagnose: true}, e, task)
}

func isUnordered(f *Finding) bool {
	return f.Kind == Race && f.Cause == race.NoOrder.String() && f.Flag == nil && f.Advice == ""
}

// sitesKey is the same for races at the same instructions, whatever their causes.
func sitesKey(f *Finding) string {
	bare := Finding{Kind: f.Kind, Sides: f.Sides}
	return bare.Key()
}

// bestOf is the diagnosis that explains a race best, of those at the same instructions in either order: one by a flag
// in the same order, or else a buffer that is overwritten too soon.
func bestOf(f *Finding, all []*Finding) *Finding {
	var best *Finding
	rank := func(d *Finding) int {
		same := d.Sides[0].Line == f.Sides[0].Line && d.Sides[0].Kind == f.Sides[0].Kind
		meets := strings.HasPrefix(d.Advice, noMeeting)
		switch {
		case same && !meets:
			return 4
		case meets && strings.HasSuffix(d.Advice, nextOverwrites):
			return 3
		case same:
			return 2
		}
		return 1
	}
	for _, d := range all {
		if best == nil || rank(d) > rank(best) {
			best = d
		}
	}
	return best
}

// diagnosed are the races of a run that diagnoses, with their flags and advice.
func (r *run) diagnosed() []Finding {
	var all []Finding
	for _, f := range r.detector.Findings() {
		out := Finding{Kind: Race, Sides: []Access{access(f.First), access(f.Second)}, Bytes: f.Second.Op.Bytes}
		out.Where = r.where(f.Memory, f.Address)
		d := f.Diagnosis
		if d == nil { // of lanes: the finding says what is missing
			continue
		}
		var release, acquire Access
		if d.Missing != race.Nothing && d.Missing != race.LaterFlag {
			release, acquire = access(d.Edge.Release), access(d.Edge.Acquire)
		}
		early := out.Sides[0]
		if d.Late {
			early = out.Sides[1]
		}
		switch d.Missing {
		case race.StrongerFlag:
			out.Flag = &[2]Access{release, acquire}
			out.Advice = stronger(release, acquire, d)
		case race.BarrierBefore:
			out.Advice = fmt.Sprintf("bar.sync is missing between the %s at %s and the flag's write at %s", nounOf(early),
				lineOf(early), lineOf(release))
		case race.BarrierBehind:
			out.Advice = fmt.Sprintf("bar.sync is missing between the flag's read at %s and the %s at %s", lineOf(acquire),
				nounOf(out.Sides[1]), lineOf(out.Sides[1]))
		default:
			if _, shared := f.Memory.(sharedMemory); shared {
				out.Advice = missingBlockBarrier(&out)
			} else {
				out.Advice = r.missingMeeting(&f, out.Sides[0], out.Sides[1])
			}
			if out.Advice == "" && d.Missing == race.LaterFlag {
				out.Advice = earlyFlags(&out, d.Waits)
			}
		}
		if out.Advice != "" {
			all = append(all, out)
		}
	}
	return all
}

// stronger says which instructions of a flag have to release and to acquire, at a scope that is no smaller than theirs.
func stronger(release, acquire Access, d *race.Diagnosis) string {
	scope := "gpu"
	if release.Rank != acquire.Rank || strings.Contains(release.Text+acquire.Text, ".sys") {
		scope = "sys"
	}
	if opcode := release.Opcode(); opcode == acquire.Opcode() && strings.HasPrefix(opcode, "atom.") && !d.Released {
		return "atom.relaxed orders nothing: use atom.acq_rel." + scope
	}
	var weak, use []string
	for _, side := range []struct {
		Access
		order string
		fine  bool
	}{{release, "release", d.Released}, {acquire, "acquire", d.Acquired}} {
		if parts := strings.Split(side.Opcode(), "."); !side.fine {
			order := ""
			if len(parts) > 1 && (parts[1] == "volatile" || parts[1] == "relaxed") {
				order = "." + parts[1]
			}
			weak, use = append(weak, parts[0]+order), append(use, parts[0]+"."+side.order+"."+scope)
		}
	}
	if len(weak) == 0 {
		return ""
	}
	verb := " orders nothing: use "
	if len(weak) > 1 {
		verb = " order nothing: use "
	}
	return strings.Join(weak, " and ") + verb + strings.Join(use, " and ")
}

// missingBlockBarrier says where warps of a block that share memory have to meet.
func missingBlockBarrier(f *Finding) string {
	first, second := f.Sides[0], f.Sides[1]
	sameBlock := first.Rank == second.Rank && first.Launch == second.Launch && first.Block == second.Block
	if !sameBlock || first.Warp == second.Warp {
		return ""
	}
	return fmt.Sprintf("a barrier of the block, such as bar.sync, is missing between the %s at %s and the %s at %s",
		nounOf(first), lineOf(first), nounOf(second), lineOf(second))
}

// lineOf is where an access is in the source and in the PTX; the command of a stream has no line.
func lineOf(a Access) string {
	if a.Module == "" {
		return "the " + a.Text
	}
	if a.Source == "" {
		return fmt.Sprintf("PTX line %d", a.Line)
	}
	return fmt.Sprintf("%s (PTX %d)", a.Source, a.Line)
}

// nounOf is what an access does, as a noun.
func nounOf(a Access) string {
	return [...]string{
		race.Read: "read", race.Write: "write", race.Update: "atomic operation", race.Fence: "fence",
	}[a.Kind]
}
