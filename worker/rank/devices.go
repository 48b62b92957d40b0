package rank

import (
	"context"
	"fmt"
	"os"

	"go.uber.org/zap"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/worker/peers"
	"gpurun/worker/result"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// CompareDevices tells all ranks what device each has, and finds out what they can
// do together. The result is the same on all ranks.
func (r *Rank) CompareDevices(ctx context.Context) (workload.Capabilities, error) {
	r.Status.Begin(phases.Compare)
	job := r.options.Job
	caps := workload.Capabilities{SpansMachines: job.SpansMachines(), WantPDL: job.PDL == workload.On}
	var err error
	if caps.Devices, err = peers.Gather(ctx, r.Peers, "devices", r.Device.Info()); err != nil {
		return caps, err
	}
	caps.NoMulticast = job.NoMulticast(caps.Devices[0].Backend, os.Getenv)
	if caps.NoPeerAccess, err = r.compareAccess(ctx, caps.Devices); err != nil {
		return caps, err
	}
	if caps.PDL, err = job.UsesPDL(caps.Devices); err != nil || r.ID != 0 {
		return caps, err
	}
	return caps, r.Status.Result(result.Update{Processes: r.Peers.Processes(), Devices: caps.Devices})
}

// OpenLibraries opens the libraries that the plan names, and adds what came of that to
// what the ranks can do.
func (r *Rank) OpenLibraries(ctx context.Context, plan workload.Plan, caps *workload.Capabilities) error {
	names := plan.Libraries()
	if len(names) == 0 {
		return nil
	}
	if err := r.Status.Announce("opening libraries"); err != nil {
		return err
	}
	r.Status.Begin(phases.Libraries)
	r.OnClose(r.Libraries.Close)
	r.Libraries.Open(names, r.Device.Info().Name)
	if err := r.Libraries.Agree(ctx, r.Peers); err != nil {
		return err
	}
	caps.Libraries, caps.Missing = r.Libraries.Capabilities()
	return nil
}

// ChooseAlgorithms turns what the job asks for into cases that can run here.
func (r *Rank) ChooseAlgorithms(plan *workload.Plan, caps workload.Capabilities) error {
	if err := r.Status.Announce("choosing algorithms"); err != nil {
		return err
	}
	leftOut, err := plan.Choose(caps)
	if err != nil {
		return err
	}
	if leftOut != nil && r.ID == 0 {
		r.options.Logger.Warn("some algorithms are left out", zap.Error(leftOut))
	}
	return nil
}

// compareAccess has every rank check what its device can do with the others' memory. It
// describes the first that cannot, in words that are the same on all ranks; empty is none.
func (r *Rank) compareAccess(ctx context.Context, devices []cudart.Info) (noPeerAccess string, err error) {
	if r.options.Job.SpansMachines() { // no algorithm relies on peer access
		return "", nil
	}
	if why := r.options.Job.NoPeerAccess(); why != "" {
		return "peer access is not used: " + why, nil
	}
	mine, err := r.unreachable(devices)
	if err != nil {
		return "", err
	}
	all, err := peers.Gather(ctx, r.Peers, "reach", mine)
	if err != nil {
		return "", err
	}
	for rank, peers := range all {
		if len(peers) > 0 {
			return whyUnreachable(rank, peers[0]), nil
		}
	}
	return "", nil
}

// unreachable lists the ranks whose memory this rank's device cannot reach.
func (r *Rank) unreachable(devices []cudart.Info) (ranks []int, err error) {
	for peer, info := range devices {
		can, err := symm.CanAccessPeer(r.Device, info)
		if err != nil {
			return nil, fmt.Errorf("asking whether device %d can reach that of rank %d: %w", r.options.Ordinal, peer, err)
		}
		if !can {
			ranks = append(ranks, peer)
		}
	}
	return ranks, nil
}

func whyUnreachable(rank, peer int) string {
	return fmt.Sprintf("the GPU of rank %d cannot reach the GPU of rank %d peer to peer "+
		"(nvidia-smi topo -p2p r shows which GPUs can)", rank, peer)
}
