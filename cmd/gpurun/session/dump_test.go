package session

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/process/agent"
	"gpurun/worker/process/dump"
	"gpurun/worker/process/nodes"
	"gpurun/worker/process/report"
)

func TestDescriptionsOfRanks(t *testing.T) {
	in := func(rank int, state string) dump.Rank {
		thread := dump.Thread{State: state, Wait: "nv_wait"}
		return dump.Rank{Rank: rank, PID: 100 + rank, Processes: []dump.Process{{Threads: []dump.Thread{thread}}}}
	}
	ranks := []dump.Rank{
		in(0, "S"), in(1, "S"), in(2, "T"), in(3, "D"), in(4, "S"), in(5, "R"),
		{Rank: 6, PID: 106, Exit: "killed by SIGKILL"},
		in(7, "S"),
	}
	ranks[5].GPU = &dump.GPU{Index: 3, Utilisation: 100, Xid: 79}
	d := dumper{doing: &doing{}}
	answers := d.doing.ask()
	barrier := report.State{Step: `waiting for all ranks at barrier "timing"`, Seconds: 12.3}
	for rank, s := range map[int]report.State{
		0: barrier, 1: {Step: barrier.Step, Seconds: 2}, 5: {Kernel: "k: block 0 of 1 has not ended"},
	} {
		d.doing.note(rank, report.Message{Kind: report.KindState, State: &s})
	}
	d.doing.note(2, report.Message{Kind: report.KindPhase, Phase: "timing allreduce"})
	states := answers(3, nil)
	var all []rankDoing
	for _, r := range ranks {
		all = append(all, d.activityOf(r, r.Rank != 7, states))
	}
	got := append(grouped(all), gpusOf(all)...)
	want := []string{
		"rank 2 (pid 102): stopped by a signal (state T); timing allreduce since 0 s",
		"rank 3 (pid 103): uninterruptible in the kernel (state D in nv_wait)",
		"rank 4 (pid 104): no answer within 1.5s",
		"rank 5 (pid 105): computing, or waiting for the driver; k: block 0 of 1 has not ended",
		"rank 6 (pid 106): killed by SIGKILL",
		"rank 7 (pid 107): starting",
		`ranks 0,1: waiting for all ranks at barrier "timing" since 12 s`,
		"GPU in use: rank 5 GPU 3 100 % (Xid 79)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A question ends when all have answered, and else when its time is over. Later answers do not belong to it.
func TestAnswersOfRanks(t *testing.T) {
	d := &doing{}
	answer := func(rank int) { d.note(rank, report.Message{Kind: report.KindState, State: &report.State{}}) }
	answer(0) // nobody has asked
	first := d.ask()
	go func() {
		time.Sleep(10 * time.Millisecond)
		answer(1)
	}()
	if got := first(1, nil); len(got) != 1 {
		t.Errorf("%v", got)
	}
	over := make(chan struct{})
	close(over)
	if got := d.ask()(2, over); len(got) != 0 {
		t.Errorf("of another question: %v", got)
	}
	failing := d.ask()
	d.note(1, report.Message{Kind: report.KindFailure, Failure: &report.Failure{}})
	if got := failing(1, nil); got[1].Step != agent.HasFailed {
		t.Errorf("of a rank that fails meanwhile: %v", got)
	}
}

// A node that waits for this one's answer to its order would have to wait until this one has the answers to an order of
// its own, which it waits for in turn.
func TestAnOrderThatWaitsForThisNodeServesAsItsOwn(t *testing.T) {
	n := &nodeDumps{heard: 3, done: 2} // without a store: a new order would fail
	got, err := n.order(t.Context(), nodes.Order{Reason: "gpurun dump has asked for it"})
	if err != nil || got.Number != 3 {
		t.Errorf("order %d, %v; want 3", got.Number, err)
	}
}
