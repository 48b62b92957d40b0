package worker

import (
	"context"
	"fmt"
	"os"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/worker/phases"
	"gpurun/worker/result"
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
	r.around = surroundings{devices: infos, spansMachines: r.Job.spansMachines(), noMulticast: r.Job.noMulticast(infos[0], os.Getenv)}
	if r.around.apart, r.around.noAtomics, err = r.reach(ctx, infos); err != nil {
		return err
	}
	if r.pdl, err = r.Job.pdl(infos); err != nil {
		return err
	}
	r.around.wantPDL = r.Job.PDL == on
	if r.Rank != 0 {
		return nil
	}
	return r.Reports.Result(result.Update{Processes: r.processes(), Devices: infos})
}

// links are the ranks whose memory a device cannot reach, and in whose it cannot count.
type links struct{ Apart, NoAtomics []int }

// reach asks every rank what its device can do with the others' memory, and puts what one of them
// cannot in words that are the same on all ranks; empty is nothing.
func (r *rank) reach(ctx context.Context, infos []cudart.Info) (unreachable, noAtomics string, err error) {
	switch {
	case r.Job.spansMachines(): // nobody is to reach anybody
		return "", "", nil
	case r.Job.P2P == off:
		return "GPUs are to run as if they could not reach each other (p2p is off)", "", nil
	case r.Job.Symm == string(symm.Host):
		return "memory of the host is to be shared, not the GPUs' (symm is host)", "", nil
	}
	var mine links
	for peer, info := range infos {
		can, err := symm.CanReach(r.device, info)
		if err != nil {
			return "", "", fmt.Errorf("asking whether device %d can reach that of rank %d: %w", r.Ordinal, peer, err)
		}
		if !can {
			mine.Apart = append(mine.Apart, peer)
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
		if len(l.Apart) > 0 {
			return apart(rank, l.Apart[0]), "", nil
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

// noMulticast says why the job gets no multicast addresses on such a device, or
// is empty. The simulator has them unless they are unwanted; GPUs have them only if
// wanted, since on a machine whose GPUs others share they can do harm.
func (j Job) noMulticast(d cudart.Info, getenv func(string) string) string {
	forbidden := symm.MulticastForbidden(getenv)
	switch {
	case j.Multicast == off:
		return "it needs a multicast address, and multicast is off"
	case j.Symm == string(symm.IPC) || j.Symm == string(symm.Host):
		return "it needs a multicast address, which memory shared by " + j.Symm + " has not"
	case d.Backend == "sim":
		return ""
	case forbidden != "":
		return "it needs a multicast address, which is refused because " + forbidden + " is set"
	case j.Multicast != on:
		return "it needs a multicast address, which GPUs get only with --multicast on"
	}
	return ""
}

// pdl decides about programmatic dependent launch: if nobody says, it is for devices that can,
// and that no ranks share.
func (j Job) pdl(devices []cudart.Info) (bool, error) {
	for rank, d := range devices {
		if sm(d) >= 90 {
			continue
		}
		if j.PDL == on {
			return false, fmt.Errorf("device of rank %d: %w", rank,
				&UnsupportedDevice{d, "programmatic dependent launch needs 9.0: leave --pdl at auto"})
		}
		return false, nil
	}
	return j.PDL == on || j.PDL != off && !shareGPUs(devices), nil
}

// briefBytes is the size of a part up to which a call is about over before the host could
// launch the next one early, which takes it 3 to 4 us: on two H200s an allreduce of 64 KB
// takes 2.8 us.
const briefBytes = 64 << 10

// briefBytes is that size, or 0 where all kernels are to be launched early.
func (j Job) briefBytes() int64 {
	if j.PDL == on {
		return 0
	}
	return briefBytes
}

func (r *rank) processes() []result.Process {
	all := make([]result.Process, r.WorldSize)
	for rank, m := range r.group.Members() {
		all[rank] = result.Process{Host: m.Host, PID: m.PID}
	}
	return all
}
