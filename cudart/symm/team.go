package symm

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gpurun/cudart"
)

// teamDevice makes multicast objects, which are called teams here. They are
// exported, mapped and released as memory is.
type teamDevice interface {
	// CanMulticast says why the device cannot be in a team, or nil.
	CanMulticast() error
	MulticastGranularity(devices int, bytes int64, fabric bool) (int64, error)
	CreateMulticast(devices int, bytes int64, fabric bool) (uint64, error)
	JoinMulticast(team uint64) error
	BindMulticast(team, memory uint64, bytes int64) error
	UnbindMulticast(team uint64) error
}

// team is this rank's part of a multicast object.
type team struct {
	unable error  // why the device cannot be in one
	export handle // what the rank has for the others
	object uint64
	bound  bool
}

// teamGranularity is what the size of memory must be a multiple of to be bound, as
// far as this device can be in a team.
func (b *vmm) teamGranularity() int64 {
	var granularity int64
	if b.team.unable = b.CanMulticast(); b.team.unable == nil {
		granularity, b.team.unable = b.MulticastGranularity(b.world, b.bytes, b.fabric)
	}
	return granularity
}

// multicastSteps implements multicaster, in the order that the driver asks for:
// no memory is bound before all devices are in, and nothing is mapped before all
// memory is bound. Rank 0's descriptor stays open to the end.
func (b *vmm) multicastSteps(ctx context.Context, m *Memory) []step {
	return []step{
		{"able", func() error { return b.team.unable }},
		{"create", func() error { return b.createTeam(m.ex.Rank()) }},
		{"join", func() error { return b.joinTeam(ctx, m.ex) }},
		{"bind", b.bindTeam},
		{"map", func() (err error) {
			m.Multicast, err = b.MapMemory(b.team.object, b.size)
			return err
		}},
		{"close", b.closeExport},
	}
}

// createTeam makes the object on rank 0, and on the others what they have to hand
// out instead: a file that leads nowhere, or no bytes.
func (b *vmm) createTeam(rank int) (err error) {
	if rank == 0 {
		if b.team.object, err = b.CreateMulticast(b.world, b.size, b.fabric); err == nil {
			b.team.export, err = b.exportHandle(b.team.object)
		}
		return err
	}
	if !b.fabric {
		b.team.export.file, err = os.Open(os.DevNull)
	}
	return err
}

func (b *vmm) joinTeam(ctx context.Context, ex Exchange) error {
	handles, err := b.exchange(ctx, ex, b.team.export)
	if err != nil {
		return fmt.Errorf("exchanging the multicast object: %w", err)
	}
	if ex.Rank() != 0 {
		b.team.object, err = b.importHandle(handles[0])
	}
	if err := errors.Join(err, closeAll(handles)); err != nil {
		return err
	}
	return b.JoinMulticast(b.team.object)
}

func (b *vmm) bindTeam() error {
	err := b.BindMulticast(b.team.object, b.own, b.size)
	b.team.bound = err == nil
	return err
}

func (b *vmm) closeExport() error {
	h := b.team.export
	b.team.export = handle{}
	return h.close()
}

func (b *vmm) unmapMulticast(ptr cudart.DevicePtr) error { return b.UnmapMemory(ptr) }

// leaveMulticast takes the rank's memory out of the team and gives the team back.
func (b *vmm) leaveMulticast() error {
	failures := []error{b.closeExport()}
	if b.team.bound {
		failures = append(failures, b.UnbindMulticast(b.team.object))
	}
	if b.team.object != 0 {
		failures = append(failures, b.ReleaseMemory(b.team.object))
	}
	b.team = team{}
	return errors.Join(failures...)
}
