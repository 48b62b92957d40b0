package main

import (
	"encoding/json"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"gpurun/worker/gate"
	"gpurun/worker/report"
	"gpurun/worker/result"
)

// gatherer takes what the workers report and prints it as it comes.
type gatherer struct {
	mu       sync.Mutex
	report   result.Report
	renderer result.Renderer
	progress *progress
	log      *zap.Logger
	// fail ends the run; it is called when a report cannot be used.
	fail func(error)

	explain explanation

	phase       string // of rank 0
	done, total int
}

// take handles one message. It has the form that agent.Spec.Reports wants.
func (g *gatherer) take(rank int, m report.Message) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var err error
	switch m.Kind {
	case report.KindLog:
		err = report.Relog(g.log.With(zap.Int("rank", rank)), m.Log)
	case report.KindResult:
		err = g.update(m.Result)
	case report.KindPhase:
		if rank == 0 {
			g.phase = m.Phase
			g.progress.show(g.done, g.total, g.phase)
		}
	case report.KindProgress:
		if rank == 0 {
			g.done, g.total = m.Progress.Done, m.Progress.Total
		}
	}
	if err != nil {
		g.fail(fmt.Errorf("handling what rank %d reports: %w", rank, err))
	}
}

// update takes the devices, or a result.
func (g *gatherer) update(data json.RawMessage) error {
	var u result.Update
	if err := json.Unmarshal(data, &u); err != nil {
		return err
	}
	if u.Devices != nil {
		g.report.Processes, g.report.Devices = u.Processes, u.Devices
		return g.renderer.Begin(g.report)
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
	if u.Result == nil {
		return nil
	}
	u.Result.SlowRank = gate.SlowRank(g.report.Devices, *u.Result)
	g.report.Results = append(g.report.Results, *u.Result)
	g.explain.add(*u.Result)
	return g.renderer.Add(*u.Result)
}

// wrong reports whether any result has wrong elements.
func (g *gatherer) wrong() bool {
	for _, r := range g.report.Results {
		if r.Wrong != nil && *r.Wrong > 0 {
			return true
		}
	}
	return false
}
