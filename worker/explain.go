package worker

import (
	"context"
	"errors"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/userkernel"
	"gpurun/rendezvous"
	"gpurun/worker/hang"
	"gpurun/worker/library"
	"gpurun/worker/process/report"
	"gpurun/worker/verify"
	"gpurun/worker/workload"
)

// Explain says what kind of failure an error of [Run] is.
func Explain(err error) report.Failure {
	f := report.Failure{Class: report.Internal, Message: err.Error()}
	var (
		usage       *workload.UsageError
		file        *kernelfile.Error
		unsupported *workload.UnsupportedDevice
		unavailable *workload.Unavailable
		unreachable *symm.NoPeerAccessError
		unshared    *symm.UnsupportedError
		cuda        *cudart.Error
		kernel      *collective.TimeoutError
		straggler   *rendezvous.Straggler
		left        *rendezvous.PeerLeft
		aborted     *rendezvous.Aborted
		stuck       *library.StuckError
		restore     *verify.RestoreError
		library     *library.Error
		hung        *hang.Error
		resident    *userkernel.ResidentError
		outside     *verify.OutsideError
	)
	switch {
	case errors.As(err, &usage), errors.As(err, &file):
		f.Class = report.Usage
	case errors.Is(err, verify.ErrInputChanged), errors.Is(err, verify.ErrCorruptionMissed),
		errors.Is(err, verify.ErrCheckWrong), errors.As(err, &outside), errors.As(err, &restore):
		f.Class = report.WrongData
	case errors.As(err, &kernel):
		f.Class, f.Peer = report.Timeout, &kernel.Peer
	case errors.As(err, &hung):
		f.Class = report.Timeout
		if rank, ok := hung.Suspect(); ok {
			f.Peer = &rank
		}
	case errors.As(err, &stuck):
		f.Class = report.Timeout
	case errors.As(err, &left):
		f.Class, f.Peer, f.Consequence = report.Rendezvous, &left.Rank, true
	case errors.As(err, &straggler):
		f.Class = report.Timeout
		if straggler.Op == rendezvous.JoinOp { // the ranks have not met
			f.Class = report.Rendezvous
		}
		if len(straggler.Missing) > 0 {
			f.Peer = &straggler.Missing[0]
		}
	case errors.Is(err, context.DeadlineExceeded):
		f.Class = report.Timeout
	case errors.As(err, &aborted), errors.Is(err, rendezvous.ErrServerGone),
		errors.Is(err, rendezvous.ErrAbandoned), errors.Is(err, context.Canceled):
		f.Class, f.Consequence = report.Rendezvous, true
	case errors.Is(err, rendezvous.ErrDuplicateRank), errors.Is(err, rendezvous.ErrWorldSize),
		errors.Is(err, rendezvous.ErrClosed), errors.Is(err, rendezvous.ErrToken):
		f.Class = report.Rendezvous
	case errors.As(err, &unsupported), errors.As(err, &unavailable), errors.As(err, &unreachable),
		errors.As(err, &unshared), errors.As(err, &resident),
		errors.As(err, &library), errors.Is(err, symm.ErrNoMulticast), errors.As(err, &cuda):
		f.Class = report.Environment
	}
	return f
}
