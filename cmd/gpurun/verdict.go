package main

import (
	"fmt"
	"io"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/gate"
	"gpurun/worker/result"
)

// judge holds the results of a run that came to its end against thresholds.
func judge(plan gate.Plan, r *result.Report) {
	if r.Gate = plan.Judge(*r); r.Gate.Failed() {
		r.ExitCode = exit.Worse(r.ExitCode, exit.Threshold)
	}
}

// sayNote says what of the speed was not judged.
func sayNote(w io.Writer, r result.Report) {
	if r.Gate != nil && r.Gate.Note != "" {
		fmt.Fprintf(w, "gpurun: %s\n", r.Gate.Note)
	}
}

// explainSpeed says which ranks were slow and which thresholds were missed.
func explainSpeed(w io.Writer, r result.Report) {
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
