package plan

import (
	"fmt"
	"strings"

	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/collective"
	"gpurun/worker/workload"
)

// setEpilogue sets the epilogue and what it works with: one, with rows of one length.
func setEpilogue(s *settings.Sources, job *workload.Job, c settings.Config, what *collective.Collective) error {
	if !flags.HasEpilogues(what) {
		return nil
	}
	if len(c.Epilogue) != 1 {
		return s.Invalid("epilogue", fmt.Errorf("%q is not one epilogue; only gpurun tune takes several",
			strings.Join(c.Epilogue, ",")))
	}
	job.Epilogue = c.Epilogue[0]
	if settings.WorksWith(job.Epilogue, "hidden") {
		if len(c.Hidden) != 1 {
			return s.Invalid("hidden", fmt.Errorf("%s is not one row length; only gpurun tune takes several", c.Hidden))
		}
		job.Row = c.Hidden[0]
	}
	if settings.WorksWith(job.Epilogue, "scale") {
		job.Scale = c.Scale
	}
	if settings.WorksWith(job.Epilogue, "epsilon") {
		job.Epsilon = c.Epsilon
	}
	return nil
}
