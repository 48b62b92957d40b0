package session

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"

	"gpurun/cmd/gpurun/host"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/dump"
	"gpurun/worker/process/dump/collect"
	"gpurun/worker/process/dump/request"
	"gpurun/worker/process/procfs"
	"gpurun/worker/process/report"
)

// dumper says what the ranks of this machine do, when gpurun dump or SIGUSR1 asks.
type dumper struct {
	doing    *doing
	stderr   io.Writer
	listener *request.Listener // nil: nobody can ask by gpurun dump
}

func newDumper(d *doing, stderr io.Writer, log *zap.Logger) *dumper {
	listener, err := request.Listen()
	if err != nil { // for example without Unix sockets; a signal still asks
		log.Debug("no requests for dumps", zap.Error(err))
	}
	return &dumper{doing: d, stderr: stderr, listener: listener}
}

func (d *dumper) close() error {
	if d.listener == nil {
		return nil
	}
	return d.listener.Close()
}

// spec is what the agent needs to know.
func (d *dumper) spec() *agent.Dumps {
	s := &agent.Dumps{Write: d.write}
	if d.listener != nil {
		s.Asked = d.listener.Requests()
	}
	return s
}

// answerBound is how long a rank may take to answer. A device says within a second where its kernels are.
const answerBound = 1500 * time.Millisecond

// write asks the ranks, looks at their processes and GPUs meanwhile, and prints the page.
func (d *dumper) write(ctx context.Context, request agent.DumpRequest, workers []collect.Worker) {
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	answers := d.doing.ask()
	asked := 0
	for _, w := range workers {
		if s, err := procfs.Signal(w.PID, syscall.SIGUSR1); w.Exit == "" && err == nil && s.Caught &&
			syscall.Kill(w.PID, syscall.SIGUSR1) == nil {
			asked++
		}
	}
	collector := collect.Collector{GPUs: host.ListGPUs}
	ranks := collector.Ranks(ctx, workers)
	states := answers(asked, ctx.Done())
	var page bytes.Buffer
	fmt.Fprintf(&page, "gpurun: what the ranks are doing, because %s\n", request.Reason)
	var all []rankDoing
	for _, r := range ranks {
		all = append(all, d.activityOf(r, states))
	}
	for _, line := range append(grouped(all), gpusOf(ranks)...) {
		fmt.Fprintln(&page, line)
	}
	_, _ = d.stderr.Write(page.Bytes()) // a reader that is gone misses nothing
	if request.Page != nil {
		request.Page(page.Bytes())
	}
}

// activity is what ranks do that do the same.
type activity struct {
	step, phase, kernel string
}

// rankDoing is an activity of a rank, and for how long its step and its phase have lasted, in seconds.
type rankDoing struct {
	rank dump.Rank
	activity
	inStep, inPhase float64
}

// activityOf says what a rank does, by its process and by its own answer.
func (d *dumper) activityOf(r dump.Rank, states map[int]report.State) rankDoing {
	state, answered := states[r.Rank]
	a := rankDoing{rank: r, inStep: state.Seconds, activity: activity{step: state.Step, kernel: state.Kernel}}
	if p := d.doing.phase(r.Rank); p.name != "" && r.Exit == "" {
		a.phase, a.inPhase = p.name, time.Since(p.at).Seconds()
	}
	var main dump.Thread
	if len(r.Processes) > 0 && len(r.Processes[0].Threads) > 0 {
		main = r.Processes[0].Threads[0]
	}
	switch {
	case r.Exit != "":
		a.step = r.Exit
	case main.State == "T":
		a.step = "stopped by a signal (state T)"
	case main.State == "D":
		a.step = "uninterruptible in the kernel (state D in " + cmp.Or(main.Wait, "an unknown place") + ")"
	case !answered:
		a.step = fmt.Sprintf("no answer within %v", answerBound)
	case a.step == "":
		a.step = "computing, or waiting for the driver"
	}
	return a
}

// grouped has a line for all ranks with the same activity, the smallest groups first. The times are the longest.
func grouped(ranks []rankDoing) (lines []string) {
	groups := map[activity][]rankDoing{}
	for _, r := range ranks {
		groups[r.activity] = append(groups[r.activity], r)
	}
	sorted := slices.SortedFunc(maps.Values(groups), func(a, b []rankDoing) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a[0].rank.Rank, b[0].rank.Rank))
	})
	for _, g := range sorted {
		first := g[0]
		text := fmt.Sprintf("rank %d (pid %d): %s", first.rank.Rank, first.rank.PID, first.step)
		if len(g) > 1 {
			text = "ranks " + numbers(g) + ": " + first.step
		}
		longest := func(of func(rankDoing) float64) float64 {
			return of(slices.MaxFunc(g, func(a, b rankDoing) int { return cmp.Compare(of(a), of(b)) }))
		}
		if s := longest(func(r rankDoing) float64 { return r.inStep }); s >= 1 {
			text += fmt.Sprintf(" since %.0f s", s)
		}
		if first.phase != "" {
			text += fmt.Sprintf("; %s since %.0f s", first.phase, longest(func(r rankDoing) float64 { return r.inPhase }))
		}
		if first.kernel != "" {
			text += "; " + first.kernel
		}
		lines = append(lines, text)
	}
	return lines
}

func numbers(ranks []rankDoing) string {
	var all []string
	for _, r := range ranks {
		all = append(all, fmt.Sprint(r.rank.Rank))
	}
	return strings.Join(all, ",")
}

// gpusOf is a line about the GPUs of ranks, or none.
func gpusOf(ranks []dump.Rank) (lines []string) {
	var all []string
	for _, r := range ranks {
		if r.GPU == nil {
			continue
		}
		text := fmt.Sprintf("rank %d GPU %d %d %%", r.Rank, r.GPU.Index, r.GPU.Utilisation)
		if r.GPU.Xid != 0 {
			text += fmt.Sprintf(" (Xid %d)", r.GPU.Xid)
		}
		all = append(all, text)
	}
	if all == nil {
		return nil
	}
	return []string{"GPU in use: " + strings.Join(all, ", ")}
}
