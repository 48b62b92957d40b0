package outcome

import (
	"fmt"
	"io"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/process/agent"
	"gpurun/worker/result"
	"gpurun/worker/result/gate"
)

// Judge holds the results of a run that came to its end against thresholds.
func Judge(plan gate.Plan, r *result.Report) {
	if r.Gate = plan.Judge(*r); r.Gate.Failed() {
		r.ExitCode = exit.Worse(r.ExitCode, exit.Threshold)
	}
}

// Of is the error, with the exit code, for a report; unsaid is the part of the error that has not been printed yet.
func Of(r result.Report, unsaid error) error {
	if r.Passed {
		return unsaid
	}
	return &exit.Error{Code: r.ExitCode, Err: unsaid, Said: strings.Join(r.Reasons(), "\n")}
}

// Explain prints how the workers ended, what is wrong with the results, and which thresholds were not applied.
func Explain(w io.Writer, o *agent.Outcome, r result.Report) error {
	ExplainWorkers(w, o)
	for _, x := range r.Results {
		for _, sentence := range x.Complaints() {
			fmt.Fprintf(w, "gpurun: %s\n", sentence)
		}
	}
	ExplainSpeed(w, r)
	if r.Timing != nil {
		if err := r.Timing.Print(w); err != nil {
			return err
		}
	}
	if r.Gate != nil && r.Gate.Note != "" {
		fmt.Fprintf(w, "gpurun: %s\n", r.Gate.Note)
	}
	return nil
}

// ExplainSpeed says which ranks were slow and which thresholds were missed.
func ExplainSpeed(w io.Writer, r result.Report) {
	sentences := gate.SlowRanks(r.Results)
	if r.Gate != nil {
		for _, v := range r.Gate.Violations {
			sentences = append(sentences, v.Text)
		}
	}
	for _, sentence := range sentences {
		fmt.Fprintf(w, "gpurun: %s\n", sentence)
	}
}
