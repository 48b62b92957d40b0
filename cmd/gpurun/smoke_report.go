package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/nvsentinel"
	"gpurun/cmd/gpurun/suggest"
)

// systems are those that smoke can report to.
var systems = []string{"nvsentinel"}

// verdictReporter tells another system of smoke's verdict.
type verdictReporter struct {
	to *nvsentinel.Reporter // nil: there is nobody to tell
}

// newVerdictReporter makes the reporter for the system with that name; an empty name is none.
func newVerdictReporter(system string) (v verdictReporter, err error) {
	switch system {
	case "":
	case systems[0]:
		if v.to, err = nvsentinel.FromEnvironment(os.Getenv); err != nil {
			return v, exit.Usagef("--report nvsentinel: %w", err)
		}
	default:
		return v, exit.Usagef("--report: %w", suggest.Unknown("system", system, systems))
	}
	return v, nil
}

// errorCodes are NVSentinel's words for smoke's exit codes. Other codes say nothing about the machine.
var errorCodes = map[int]string{
	exit.WrongData: "GPURUN_WRONG_DATA", exit.Environment: "GPURUN_ENVIRONMENT", exit.Timeout: "GPURUN_TIMEOUT",
	exit.WorkerDied: "GPURUN_WORKER_DIED", exit.Rendezvous: "GPURUN_RENDEZVOUS", exit.Threshold: "GPURUN_THRESHOLD",
	exit.UnfitMachine: "GPURUN_UNFIT_MACHINE",
}

// report tells the system how smoke ended, and returns the error for the exit code. A verdict that nobody heard of is a
// failure of its own. Where the cluster only keeps events, a failed check must not hold up the pod.
func (v verdictReporter) report(ctx context.Context, stderr io.Writer, ended error) error {
	if v.to == nil {
		return ended
	}
	code := exit.Code(ended)
	word := errorCodes[code]
	if code != exit.OK && word == "" {
		return ended
	}
	event := nvsentinel.Event{Healthy: code == exit.OK, ErrorCode: word, Message: "gpurun smoke: PASS"}
	if ended != nil {
		event.Message = "gpurun smoke: FAIL: " + strings.Join(strings.Fields(whyFailed(ended)), " ")
	}
	switch err := v.to.Send(ctx, event); {
	case err != nil && ended == nil:
		return &exit.EnvironmentError{Err: err}
	case err != nil:
		fmt.Fprintf(stderr, "gpurun: %v\n", err)
	case ended != nil && v.to.StoreOnly():
		if text := exit.Describe(ended); text != "" {
			fmt.Fprintf(stderr, "gpurun: %s\n", text)
		}
		fmt.Fprintf(stderr, "gpurun: smoke failed with exit code %d, and exits with 0: %s is STORE_ONLY\n", code,
			nvsentinel.StrategyVariable)
		return nil
	}
	return ended
}

// whyFailed is what is known of a failure in words, also where it has been printed.
func whyFailed(err error) string {
	said := new(exit.Error)
	if errors.As(err, &said) {
		return cmp.Or(said.Said, said.Error())
	}
	return err.Error()
}
