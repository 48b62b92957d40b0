package collect

import (
	"context"
	"slices"

	"gpurun/worker/process/dump"
	"gpurun/worker/process/procfs"
)

// gpuList is the machine's GPUs, which are listed once for all ranks. The driver may not answer while a GPU hangs.
type gpuList struct {
	listed chan struct{} // closed when the list is there
	gpus   []dump.GPU
	err    error
}

func (c *Collector) listGPUs() *gpuList {
	l := &gpuList{listed: make(chan struct{})}
	go func() {
		defer close(l.listed)
		if c.GPUs != nil {
			l.gpus, l.err = c.GPUs()
		}
	}()
	return l
}

// of finds the GPU on which one of the processes computes.
func (l *gpuList) of(ctx context.Context, pids []procfs.Process) func(*dump.Rank) {
	select {
	case <-l.listed:
	case <-ctx.Done():
		return missing("NVML: the driver did not answer within the dump's time")
	}
	if l.err != nil {
		return missing("NVML: %v", l.err)
	}
	for _, gpu := range l.gpus {
		if slices.ContainsFunc(pids, func(p procfs.Process) bool { return slices.Contains(gpu.Processes, p.PID) }) {
			return func(r *dump.Rank) { r.GPU = &gpu }
		}
	}
	return func(*dump.Rank) {}
}
