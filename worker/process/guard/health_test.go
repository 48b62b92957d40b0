package guard

import (
	"syscall"
	"testing"
)

// check fails n times in a row; the last check gives the remedy.
func checks(t *testing.T, h *health, n int, stopped bool, last remedy) {
	t.Helper()
	for i := 1; i <= n; i++ {
		want := leave
		if i == n {
			want = last
		}
		if got := h.check(stopped); got != want {
			t.Fatalf("check %d: remedy %d, want %d", i, got, want)
		}
	}
}

func TestStoppedAgentIsAskedToEndAndThenKilled(t *testing.T) {
	h := &health{pid: 7}
	checks(t, h, stoppedChecks-1, true, leave)
	checks(t, h, 1, false, leave) // continued in time
	checks(t, h, stoppedChecks, true, end)
	if h.conclusion == nil || h.conclusion.Signal != 0 {
		t.Errorf("%+v", h.conclusion)
	}
	checks(t, h, unansweredChecks, true, kill)
	if h.conclusion.Signal != 0 {
		t.Errorf("the first reason is lost: %+v", h.conclusion)
	}
}

func TestAgentThatDoesNotAnswerIsKilled(t *testing.T) {
	h := &health{pid: 7}
	checks(t, h, 2*unansweredChecks, false, leave)
	h.ask(syscall.SIGINT)
	h.ask(syscall.SIGTERM)
	checks(t, h, unansweredChecks, false, kill)
	if h.conclusion == nil || h.conclusion.Signal != syscall.SIGINT {
		t.Errorf("%+v", h.conclusion)
	}
}

func TestAgentThatAnswersHasItsGrace(t *testing.T) {
	h := &health{pid: 7}
	h.ask(syscall.SIGTERM)
	checks(t, h, unansweredChecks-1, false, leave)
	h.answered = true
	checks(t, h, 100, false, leave)
}
