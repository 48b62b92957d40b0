package main

import (
	"gpurun/cmd/gpurun/exit"
	"gpurun/worker"
)

// checkJob asks the workers' own planning whether the ranks can do the job.
func checkJob(job worker.Job, ranks int) error {
	if err := job.Check(ranks); err != nil {
		return &exit.UsageError{Err: err}
	}
	return nil
}
