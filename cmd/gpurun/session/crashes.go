package session

import (
	"gpurun/worker/process/agent"
	"gpurun/worker/process/crash"
	"gpurun/worker/process/output"
	"gpurun/worker/process/report"
)

// crashes finds crashes of the Go runtime in the workers' standard error, by local rank.
type crashes []crash.Filter

// output has the type of agent.Spec.Output.
func (c crashes) output(localRank int) (stdout, stderr output.Destination, err error) {
	return output.Destination{}, output.Destination{Pass: c[localRank].Pass}, nil
}

// explain gives the first failure the reason of its crash, if it has none in the worker's own words.
func (c crashes) explain(o *agent.Outcome) {
	if o == nil || o.First == nil || o.First.Report != nil {
		return
	}
	if err := c[o.First.LocalRank].Crash("its process"); err != nil {
		o.First.Report = &report.Failure{Class: report.Environment, Message: err.Error()}
	}
}
