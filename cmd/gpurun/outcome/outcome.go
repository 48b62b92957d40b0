// Package outcome says how a run ended: to people on stderr, in files, to CI systems, and by
// the error that decides the exit code.
package outcome

import (
	"fmt"
	"io"
	"strings"

	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/libraries"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/guard"
	"gpurun/worker/process/signals"
)

// ExplainWorkers names the first failure with the worker's last words, and in
// short what became of the others.
func ExplainWorkers(w io.Writer, o *agent.Outcome) {
	var b strings.Builder
	switch {
	case o.First != nil:
		fmt.Fprintf(&b, "gpurun: %s\n", strings.ReplaceAll(o.First.Error(), "\n", "\n  "))
		b.WriteString(exitOfLibrary(o.First))
		if file := o.First.FullDisk; file != "" {
			fmt.Fprintf(&b, "  no space is left on the disk of its output, %s\n", file)
		}
		if last := o.First.LastStderr; len(last) > 0 {
			fmt.Fprintf(&b, "  its last lines of stderr:\n    %s\n", strings.Join(last, "\n    "))
		}
		b.WriteString(endedBecause(o))
	case o.Signal != 0:
		fmt.Fprintf(&b, "gpurun: ended by %s\n", signals.Name(o.Signal))
	case o.Cause != nil && !guard.Said(o.Cause):
		fmt.Fprintf(&b, "gpurun: ended early: %v\n", o.Cause)
	}
	for _, worker := range o.Workers {
		if worker.Stuck {
			fmt.Fprintf(&b, "  rank %d (pid %d) did not end after SIGKILL, and still exists\n", worker.Rank, worker.PID)
		}
	}
	io.WriteString(w, b.String())
}

// endedBecause says how many ranks were ended because of the first failure. Others have ended well before, or failed
// themselves.
func endedBecause(o *agent.Outcome) string {
	others, ended := len(o.Workers)-1, 0
	for _, w := range o.Workers {
		if w.Followed && w.Rank != o.First.Rank {
			ended++
		}
	}
	switch {
	case ended == 0:
		return ""
	case ended < others:
		return fmt.Sprintf("  %s ended because of it\n", suggest.Count(ended, "other rank was", "other ranks were"))
	case ended == 1:
		return "  the other rank was ended because of it\n"
	}
	return fmt.Sprintf("  the other %d ranks were ended because of it\n", ended)
}

// exitOfLibrary explains a worker that NVSHMEM has ended: on an error that it
// cannot handle it calls exit(-1), and nothing of gpurun runs any more.
func exitOfLibrary(f *agent.Failure) string {
	const code = 255 // what is left of -1
	if f.Report != nil || f.Signal != 0 || f.ExitCode != code ||
		!strings.Contains(strings.ToLower(f.Phase), libraries.NVSHMEMName) {
		return ""
	}
	return "  NVSHMEM calls exit(-1) on an error that it cannot handle; NVSHMEM_DEBUG=INFO prints more\n"
}
