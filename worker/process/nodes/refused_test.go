package nodes

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// Node 0 names at once whom it refuses, and again when it has waited in vain.
func TestNodeZeroNamesWhomItRefuses(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zapcore.WarnLevel)
	j := newJob(t, 3)
	zero := j.node(0)
	zero.JoinTimeout, zero.Logger = 3*time.Second, zap.New(core)
	failed := make(chan error, 1)
	go func() {
		_, err := Meet(t.Context(), zero, Plan{})
		failed <- err
	}()
	token, count := j.node(1), j.node(1)
	token.Token, count.Count = "another", 4
	for _, stranger := range []Config{token, count, token} {
		if _, err := Meet(t.Context(), stranger, Plan{}); err == nil {
			t.Error("a stranger was not refused")
		}
	}
	if n := logged.Len(); n != 2 {
		t.Errorf("%d refusals are logged, want one for each reason: %v", n, logged.All())
	}
	err := <-failed
	for _, want := range []string{
		"of 3 nodes, 2 did not reach", "; refused: 127.0.0.1 (wrong token for this job)",
		"expects 4, the rendezvous serves 3",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
