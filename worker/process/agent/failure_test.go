package agent

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/process/report"
)

func TestOOMIsSaid(t *testing.T) {
	f := &Failure{Rank: 1, PID: 2, Signal: syscall.SIGKILL, OOMKilled: true, Phase: "loading"}
	if diff := cmp.Diff("rank 1 (pid 2) was killed by SIGKILL because memory ran out while loading",
		f.Error()); diff != "" {
		t.Error(diff)
	}
	f.OOMOfMachine = true // the kernel may have killed another job's process
	if diff := cmp.Diff("rank 1 (pid 2) was killed by SIGKILL, probably because memory ran out while loading",
		f.Error()); diff != "" {
		t.Error(diff)
	}
}

// The sentence of a wait in vain begins with the rank that did not arrive, also at the rendezvous. A rank that leaves
// because of another is no witness.
func TestCulpritComesFirst(t *testing.T) {
	peer := 1
	for _, test := range []struct {
		report report.Failure
		first  string
	}{
		{report.Failure{Class: report.Timeout, Peer: &peer}, "rank 1 did not arrive in time: rank 0"},
		{report.Failure{Class: report.Rendezvous, Peer: &peer}, "rank 1 did not arrive in time: rank 0"},
		{report.Failure{Class: report.Rendezvous, Peer: &peer, Consequence: true}, "rank 0"},
		{report.Failure{Class: report.WrongData, Peer: &peer}, "rank 0"},
	} {
		if got := (&Failure{Report: &test.report}).Error(); !strings.HasPrefix(got, test.first) {
			t.Errorf("%q, want %q first", got, test.first)
		}
	}
}

func TestFailureDoesNotRepeatItsPhase(t *testing.T) {
	for message, want := range map[string]string{
		"joining: joining: refused":  "refused",
		"joining at HOST: no answer": "at HOST: no answer",
		"rejoining: no answer":       "rejoining: no answer",
	} {
		f := Failure{Rank: 1, PID: 2, Phase: "joining", Report: &report.Failure{Message: message}}
		if got, want := f.Error(), "rank 1 (pid 2) failed while joining: "+want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
