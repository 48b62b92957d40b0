package session

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"syscall"
	"time"

	"go.uber.org/zap"

	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/settings"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/dump"
	"gpurun/worker/process/dump/collect"
	"gpurun/worker/process/dump/request"
	"gpurun/worker/process/procfs"
	"gpurun/worker/process/report"
)

// dumper says what the ranks do: when gpurun dump or SIGUSR1 asks, when a rank has waited in vain, and when all hang.
type dumper struct {
	doing    *doing
	stderr   io.Writer
	listener *request.Listener // nil: nobody can ask by gpurun dump
	nodes    *nodeDumps        // nil on one machine
}

func newDumper(d *doing, stderr io.Writer, log *zap.Logger) *dumper {
	listener, err := request.Listen()
	if err != nil { // for example without Unix sockets; a signal still asks
		log.Debug("no requests for dumps", zap.Error(err))
	}
	return &dumper{doing: d, stderr: stderr, listener: listener}
}

func (d *dumper) close() error {
	d.nodes.close()
	if d.listener == nil {
		return nil
	}
	return d.listener.Close()
}

// spec is what the agent needs to know.
func (d *dumper) spec(c settings.Launch) *agent.Dumps {
	s := &agent.Dumps{
		Write: d.write, OnFailure: c.OnFailure == settings.DumpOnFailure, Hang: time.Duration(c.HangTimeout),
		Elsewhere: d.nodes != nil,
	}
	switch {
	case d.nodes != nil:
		s.Asked, s.Silent = d.nodes.asked, d.nodes.tellSilent
	case d.listener != nil:
		s.Asked = d.listener.Requests()
	}
	return s
}

// write makes a page, with the other nodes if there are any, and prints it.
func (d *dumper) write(ctx context.Context, request agent.DumpRequest, workers []collect.Worker) {
	if d.nodes != nil {
		d.nodes.write(ctx, d, request, workers)
		return
	}
	d.publish(request, d.ranks(ctx, workers), nil)
}

// publish prints a page about ranks. missing has a sentence for each node that did not answer.
func (d *dumper) publish(request agent.DumpRequest, ranks []rankDoing, missing []string) {
	slices.SortFunc(ranks, func(a, b rankDoing) int { return cmp.Compare(a.Rank, b.Rank) })
	var page bytes.Buffer
	fmt.Fprintf(&page, "gpurun: what the ranks are doing, because %s\n", request.Reason)
	for _, line := range slices.Concat(grouped(ranks), gpusOf(ranks), missing) {
		fmt.Fprintln(&page, line)
	}
	_, _ = d.stderr.Write(page.Bytes()) // a reader that is gone misses nothing
	if request.Page != nil {
		request.Page(page.Bytes())
	}
}

// answerBound is how long a rank may take to answer. A device says within a second where its kernels are.
const answerBound = 1500 * time.Millisecond

// ranks asks the ranks of this machine, and looks at their processes and GPUs meanwhile.
func (d *dumper) ranks(ctx context.Context, workers []collect.Worker) (all []rankDoing) {
	ctx, cancel := context.WithTimeout(ctx, answerBound)
	defer cancel()
	answers := d.doing.ask()
	asked := map[int]bool{}
	for _, w := range workers {
		if s, err := procfs.Signal(w.PID, syscall.SIGUSR1); w.Exit == "" && err == nil && s.Caught &&
			syscall.Kill(w.PID, syscall.SIGUSR1) == nil {
			asked[w.Rank] = true
		}
	}
	collector := collect.Collector{GPUs: host.ListGPUs}
	ranks := collector.Ranks(ctx, workers)
	states := answers(len(asked), ctx.Done())
	for _, r := range ranks {
		all = append(all, d.activityOf(r, asked[r.Rank], states))
	}
	return all
}

// activityOf says what a rank does, by its process and by its own answer, if it was asked.
func (d *dumper) activityOf(r dump.Rank, asked bool, states map[int]report.State) rankDoing {
	state, answered := states[r.Rank]
	a := rankDoing{
		Rank: r.Rank, PID: r.PID, GPU: r.GPU, InStep: state.Seconds,
		activity: activity{Step: state.Step, Kernel: state.Kernel},
	}
	if p := d.doing.phase(r.Rank); p.name != "" && r.Exit == "" {
		a.Phase, a.InPhase = p.name, time.Since(p.at).Seconds()
	}
	var main dump.Thread
	if len(r.Processes) > 0 && len(r.Processes[0].Threads) > 0 {
		main = r.Processes[0].Threads[0]
	}
	switch {
	case r.Exit != "":
		a.Step = r.Exit
	case main.State == "T":
		a.Step = "stopped by a signal (state T)"
	case main.State == "D":
		a.Step = "uninterruptible in the kernel (state D in " + cmp.Or(main.Wait, "an unknown place") + ")"
	case !asked:
		a.Step = "starting"
	case !answered:
		a.Step = fmt.Sprintf("no answer within %v", answerBound)
	case a.Step == "":
		a.Step = "computing, or waiting for the driver"
	}
	return a
}
