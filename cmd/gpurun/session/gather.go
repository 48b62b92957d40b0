package session

import (
	"cmp"
	"encoding/json"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"gpurun/cmd/gpurun/suggest"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/report"
	"gpurun/worker/result"
	"gpurun/worker/result/gate"
	"gpurun/worker/result/phases"
)

// gatherer takes what the workers report and prints it as it comes.
type gatherer struct {
	mu       sync.Mutex
	report   result.Report
	renderer result.Renderer
	progress *Progress
	log      *zap.Logger
	first    int // this machine's first rank
	// fail ends the run; it is called when a report cannot be used.
	fail func(error)

	explain explanation
	doing   doing

	phases      map[int][]phases.Span // by rank, of those that are done
	phase       string                // of the first rank
	done, total int
}

// take handles one message. It has the form that agent.Spec.Reports wants.
func (g *gatherer) take(rank int, m report.Message) {
	g.doing.note(rank, m)
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	switch m.Kind {
	case report.KindLog:
		err = report.Relog(g.log.With(zap.Int("rank", rank)), m.Log)
	case report.KindResult:
		err = g.update(rank, m.Result)
	case report.KindPhase:
		if rank == g.first {
			g.phase = m.Phase
			g.progress.show(g.done, g.total, g.phase)
		}
	case report.KindProgress:
		if rank == g.first {
			g.done, g.total = m.Progress.Done, m.Progress.Total
		}
	}
	if err != nil {
		g.fail(fmt.Errorf("handling a report of rank %d: %w", rank, err))
	}
}

// note says in the report where the time of the run went.
func (g *gatherer) note(launcher *phases.Recorder, o *agent.Outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var workers []phases.Worker
	for _, w := range o.Workers {
		workers = append(workers, phases.Worker{
			Rank: w.Rank, Started: phases.SinceBoot(w.Started), Exited: phases.SinceBoot(w.Exited), Spans: g.phases[w.Rank],
		})
	}
	timing := phases.NewTiming(launcher.Spans(), workers)
	g.report.Timing = &timing
}

// update takes the devices, a result, or what else a rank reports.
func (g *gatherer) update(rank int, data json.RawMessage) error {
	var u result.Update
	if err := json.Unmarshal(data, &u); err != nil {
		return err
	}
	if u.Devices != nil {
		g.report.Processes, g.report.Devices = u.Processes, u.Devices
		return g.renderer.Begin(g.report)
	}
	if u.Phases != nil {
		g.phases[rank] = u.Phases
	}
	if u.Memory != nil {
		g.report.Memory = u.Memory
		g.explain.memory(*u.Memory)
	}
	if u.Ceiling != nil {
		g.report.Ceiling = u.Ceiling
		if c, ok := g.renderer.(result.CeilingRenderer); ok {
			return c.Ceiling(*u.Ceiling)
		}
	}
	if u.Further != nil {
		g.report.Further = u.Further
	}
	if u.Timeline != nil {
		g.report.Timeline.Add(*u.Timeline)
	}
	g.report.Pairs, g.report.NoPeerAccess = append(g.report.Pairs, u.Pairs...),
		cmp.Or(u.NoPeerAccess, g.report.NoPeerAccess)
	if u.Result == nil {
		return nil
	}
	u.Result.SlowRank = gate.SlowRank(g.report.Devices, *u.Result)
	g.report.Results = append(g.report.Results, *u.Result)
	g.explain.add(*u.Result)
	return g.renderer.Add(*u.Result)
}

// wrong counts the results with wrong elements.
func (g *gatherer) wrong() (n int) {
	for _, r := range g.report.Results {
		if r.Wrong != nil && *r.Wrong > 0 {
			n++
		}
	}
	return n
}

// anyWrong is whether a result has wrong elements, while workers may still report.
func (g *gatherer) anyWrong() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wrong() > 0
}

// summary says in a line how the results are.
func (g *gatherer) summary() string {
	all, verified := len(g.report.Results), 0
	for _, r := range g.report.Results {
		if r.Wrong != nil {
			verified++
		}
	}
	switch wrong := g.wrong(); {
	case wrong > 0:
		return fmt.Sprintf("%d of %s wrong elements", wrong, suggest.Count(all, "result has", "results have"))
	case verified < all:
		return suggest.Count(all, "result", "results") + ", not verified"
	}
	return "all " + suggest.Count(all, "result", "results") + " verified"
}

// silent prints nothing.
type silent struct{}

func (silent) Begin(result.Report) error { return nil }
func (silent) Add(result.Result) error   { return nil }
func (silent) End(result.Report) error   { return nil }
