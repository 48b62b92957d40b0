package worker

import (
	"context"
	"fmt"
	"os"

	"go.uber.org/zap"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/worker/result"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

func (r *rank) openDevice() (err error) {
	if err := r.phase("opening device %d", r.Ordinal); err != nil {
		return err
	}
	r.Phases.Begin(phases.Init)
	if err := r.Backend.Init(); err != nil {
		return fmt.Errorf("initializing the driver for device %d: %w", r.Ordinal, err)
	}
	r.Phases.Begin(phases.Open)
	if r.device, err = r.Backend.Open(r.Ordinal); err != nil {
		return fmt.Errorf("opening device %d: %w", r.Ordinal, err)
	}
	r.onClose(r.device.Close)
	if r.stream, err = r.device.NewStream(); err != nil {
		return fmt.Errorf("creating a stream: %w", err)
	}
	r.onClose(r.stream.Close)
	return nil
}

// meetDevices tells all ranks what device each has, and finds out what they can
// do together.
func (r *rank) meetDevices(ctx context.Context) error {
	r.Phases.Begin(phases.Compare)
	ctx, cancel := r.within(ctx)
	defer cancel()
	infos, err := gather(ctx, r.group, "devices", r.device.Info())
	if err != nil {
		return err
	}
	r.caps = workload.Capabilities{Devices: infos, SpansMachines: r.Job.SpansMachines(), NoMulticast: r.Job.NoMulticast(infos[0].Backend, os.Getenv)}
	if r.caps.NoPeerAccess, r.caps.NoAtomics, err = r.reach(ctx, infos); err != nil {
		return err
	}
	if r.pdl, err = r.Job.UsesPDL(infos); err != nil {
		return err
	}
	r.caps.WantPDL = r.Job.PDL == workload.On
	if r.Rank != 0 {
		return nil
	}
	return r.Reports.Result(result.Update{Processes: r.processes(), Devices: infos})
}

// chooseAlgorithms turns what the job asks for into cases that can run here.
func (r *rank) chooseAlgorithms() error {
	if err := r.phase("choosing algorithms"); err != nil {
		return err
	}
	leftOut, err := r.plan.Choose(r.caps)
	if err != nil {
		return err
	}
	if leftOut != nil && r.Rank == 0 {
		r.Logger.Warn("some algorithms are left out", zap.Error(leftOut))
	}
	return nil
}

// links are the ranks whose memory a device cannot reach, and in whose it cannot count.
type links struct{ NoPeerAccess, NoAtomics []int }

// reach asks every rank what its device can do with the others' memory, and puts what one of them
// cannot in words that are the same on all ranks; empty is nothing.
func (r *rank) reach(ctx context.Context, infos []cudart.Info) (unreachable, noAtomics string, err error) {
	if r.Job.SpansMachines() { // no algorithm relies on peer access
		return "", "", nil
	}
	if why := r.Job.NoPeerAccess(); why != "" {
		return "peer access is not used: " + why, "", nil
	}
	var mine links
	for peer, info := range infos {
		can, err := symm.CanReach(r.device, info)
		if err != nil {
			return "", "", fmt.Errorf("asking whether device %d can reach that of rank %d: %w", r.Ordinal, peer, err)
		}
		if !can {
			mine.NoPeerAccess = append(mine.NoPeerAccess, peer)
			continue
		}
		if can, err = symm.HasAtomics(r.device, info); err != nil {
			return "", "", fmt.Errorf("asking whether device %d can count in the memory of rank %d: %w", r.Ordinal, peer, err)
		}
		if !can {
			mine.NoAtomics = append(mine.NoAtomics, peer)
		}
	}
	all, err := gather(ctx, r.group, "reach", mine)
	if err != nil {
		return "", "", err
	}
	for rank, l := range all {
		if len(l.NoPeerAccess) > 0 {
			return apart(rank, l.NoPeerAccess[0]), "", nil
		}
		if len(l.NoAtomics) > 0 && noAtomics == "" {
			noAtomics = fmt.Sprintf("the link from the GPU of rank %d to the GPU of rank %d has no atomics (nvidia-smi topo -p2p a shows which have)", rank, l.NoAtomics[0])
		}
	}
	return "", noAtomics, nil
}

func apart(rank, peer int) string {
	return fmt.Sprintf("the GPU of rank %d cannot reach the GPU of rank %d peer to peer (nvidia-smi topo -p2p r shows which GPUs can)", rank, peer)
}

func (r *rank) processes() []result.Process {
	all := make([]result.Process, r.WorldSize)
	for rank, m := range r.group.Members() {
		all[rank] = result.Process{Host: m.Host, PID: m.PID}
	}
	return all
}
