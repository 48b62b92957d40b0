package agent

import (
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
