package worker

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/userkernel"
	"gpurun/rendezvous"
	"gpurun/worker/library"
	"gpurun/worker/process/report"
	"gpurun/worker/verify"
	"gpurun/worker/workload"
)

func TestExplain(t *testing.T) {
	three := 3
	for _, tt := range []struct {
		err  error
		want report.Failure
	}{
		{&workload.UsageError{Reason: "no"}, report.Failure{Class: report.Usage}},
		{&kernelfile.Error{Path: "mine.toml", Line: 3}, report.Failure{Class: report.Usage}},
		{verify.ErrInputChanged, report.Failure{Class: report.WrongData}},
		{verify.ErrCorruptionMissed, report.Failure{Class: report.WrongData}},
		{verify.ErrCheckWrong, report.Failure{Class: report.WrongData}},
		{&verify.RestoreError{Buffer: "pad"}, report.Failure{Class: report.WrongData}},
		{&userkernel.ResidentError{Reason: "too many"}, report.Failure{Class: report.Environment}},
		{&library.StuckError{What: "joining"}, report.Failure{Class: report.Timeout}},
		{&library.Error{Title: "NCCL 2.99.1", Err: errors.New("ncclRemoteError")}, report.Failure{Class: report.Environment}},
		{&collective.TimeoutError{Peer: 3}, report.Failure{Class: report.Timeout, Peer: &three}},
		{&rendezvous.PeerLeft{Rank: 3}, report.Failure{Class: report.Rendezvous, Peer: &three, Consequence: true}},
		{&rendezvous.Straggler{Missing: []int{3, 5}}, report.Failure{Class: report.Timeout, Peer: &three}},
		{
			&rendezvous.Straggler{Op: "join", Missing: []int{3}}, report.Failure{Class: report.Rendezvous, Peer: &three},
		},
		{rendezvous.ErrServerGone, report.Failure{Class: report.Rendezvous, Consequence: true}},
		{rendezvous.ErrDuplicateRank, report.Failure{Class: report.Rendezvous}},
		{context.DeadlineExceeded, report.Failure{Class: report.Timeout}},
		{&cudart.Error{Op: "cuMemAlloc_v2", Code: cudart.ErrOutOfMemory}, report.Failure{Class: report.Environment}},
		{&workload.UnsupportedDevice{}, report.Failure{Class: report.Environment}},
		{&workload.Unavailable{}, report.Failure{Class: report.Environment}},
		{&symm.NoPeerAccessError{Err: errors.New("no")}, report.Failure{Class: report.Environment}},
		{&symm.UnsupportedError{Kind: symm.VMM, Reason: "no"}, report.Failure{Class: report.Environment}},
		{symm.ErrNoMulticast, report.Failure{Class: report.Environment}},
		{errors.New("odd"), report.Failure{Class: report.Internal}},
	} {
		err := fmt.Errorf("doing something: %w", tt.err)
		tt.want.Message = err.Error()
		if diff := cmp.Diff(tt.want, Explain(err)); diff != "" {
			t.Errorf("%T: %s", tt.err, diff)
		}
	}
}
