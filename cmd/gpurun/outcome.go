package main

import (
	"fmt"
	"io"
	"strings"

	"gpurun/worker/agent"
)

// explainOutcome names the first failure with the worker's last words, and in
// short what became of the others.
func explainOutcome(w io.Writer, o *agent.Outcome) {
	var b strings.Builder
	switch {
	case o.First != nil:
		fmt.Fprintf(&b, "gpurun: %s\n", strings.ReplaceAll(o.First.Error(), "\n", "\n  "))
		if last := o.First.LastStderr; len(last) > 0 {
			fmt.Fprintf(&b, "  its last lines of stderr:\n    %s\n", strings.Join(last, "\n    "))
		}
		switch others := len(o.Workers) - 1; {
		case others == 1:
			b.WriteString("  the other rank was ended because of it\n")
		case others > 1:
			fmt.Fprintf(&b, "  the other %d ranks were ended because of it\n", others)
		}
	case o.Signal != 0:
		fmt.Fprintf(&b, "gpurun: ended by %s\n", agent.SignalName(o.Signal))
	case o.Cause != nil:
		fmt.Fprintf(&b, "gpurun: ended early: %v\n", o.Cause)
	}
	for _, worker := range o.Workers {
		if worker.Stuck {
			fmt.Fprintf(&b, "  rank %d (pid %d) did not die of SIGKILL and is left behind\n", worker.Rank, worker.PID)
		}
	}
	io.WriteString(w, b.String())
}

// count puts a number before a noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// rankPrefix marks lines of output when there are several ranks.
func rankPrefix(workers int) func(rank int) string {
	return func(rank int) string {
		if workers == 1 {
			return ""
		}
		return fmt.Sprintf("[rank %d] ", rank)
	}
}
