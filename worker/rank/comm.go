package rank

import (
	"context"
	"fmt"

	"gpurun/kernels/collective"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// Connect joins the libraries that the plan needs, makes the communicator on the shared
// memory, and waits until all ranks are ready.
func (r *Rank) Connect(ctx context.Context, plan workload.Plan, caps workload.Capabilities,
	layout workload.Layout,
) error {
	r.Status.Begin(phases.Enter)
	joined, err := r.Libraries.Join(ctx, plan.Needs, r.memory)
	if err != nil {
		return err
	}
	r.Status.Begin(phases.Ready)
	if err := r.newComm(caps, layout, joined); err != nil {
		return fmt.Errorf("preparing the kernels: %w", err)
	}
	if err := r.Peers.Meet(ctx, "ready"); err != nil {
		return fmt.Errorf("waiting for the peers to be ready: %w", err)
	}
	return nil
}

func (r *Rank) newComm(caps workload.Capabilities, layout workload.Layout,
	joined map[string]collective.Library,
) (err error) {
	job := r.options.Job
	r.Comm, err = collective.New(collective.Config{
		Device:        r.Device,
		Source:        r.options.Source,
		Rank:          r.ID,
		Peers:         r.memory.Peers,
		Multicast:     r.memory.Multicast,
		ScratchOffset: layout.Scratch,
		PacketOffset:  layout.Packets,
		PacketBytes:   layout.PacketBytes,
		MailboxOffset: layout.Mailboxes,
		MailboxBytes:  layout.MailboxBytes,
		SMs:           caps.LeastSMs(),
		MaxBlocks:     job.MaxBlocks,
		PDL:           caps.PDL,
		BriefBytes:    job.ShortCallBytes(),
		Timeout:       job.Timeout,
		Areas:         layout.Areas,
		Libraries:     joined,
	})
	return err
}
