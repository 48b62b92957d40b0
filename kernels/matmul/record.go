package matmul

import (
	"context"
	"errors"
	"fmt"

	"gpurun/kernels/collective"
)

// stampKernel is the barrier that a recorded call begins with.
func stampKernel() collective.Kernel {
	m := collective.Module{Name: "matmul_stamp", Source: "matmul/cuda/stamp.cu", Arch: collective.SM80}
	return collective.Kernel{Module: m, Entry: "matmul_stamp", Any: true, Op: collective.None}
}

// callsBeforeRecord is the number of calls that keep the devices busy while the host enqueues the recorded call, so
// that no part of it waits for the host.
const callsBeforeRecord = 2

// Record makes a prepared call of the algorithm a few times, on all ranks, and records the last one. It waits for that
// call until ctx ends. The kernels of the algorithm must record their tiles.
func (r *Runner) Record(ctx context.Context, a *Algorithm, call Call) (recording Recording, err error) {
	if a.Tiles == nil {
		return recording, fmt.Errorf("%s %s records no times of its tiles", a.Operation, a.Name)
	}
	rec := &recorder{device: r.Device, tiles: a.Tiles(call.Problem, r.World()) + wgmmaCluster*r.mostPieces()}
	defer func() { err = errors.Join(err, rec.close()) }()
	if err := rec.open(r.Main); err != nil {
		return recording, fmt.Errorf("allocating memory for the times of tiles: %w", err)
	}
	for range callsBeforeRecord {
		if err := r.Enqueue(a, call); err != nil {
			return recording, err
		}
	}
	if err := r.stamp(rec, call); err != nil {
		return recording, err
	}
	r.recorder, call.Trace = rec, rec.records()
	err = r.Enqueue(a, call)
	r.recorder = nil
	if err != nil {
		return recording, err
	}
	if err := r.Main.Synchronize(ctx); err != nil {
		return recording, err
	}
	return rec.read(r.Main)
}

// stamp enqueues a barrier after which both the kernel and an event take the time.
func (r *Runner) stamp(rec *recorder, call Call) error {
	kernel, err := r.Load(stampKernel())
	if err != nil {
		return err
	}
	call.Trace = rec.memory
	p := r.Params(call)
	if err := r.Main.Launch(kernel, r.OneBlock(), p.Bytes()); err != nil {
		return err
	}
	return r.Main.Record(rec.start)
}
