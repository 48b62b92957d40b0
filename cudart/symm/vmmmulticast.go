package symm

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gpurun/cudart"
)

// groupDevice makes multicast groups, CUDA's multicast objects. Their handles are exported, mapped
// and released as those of memory are.
type groupDevice interface {
	// CanMulticast says why the device cannot be in a multicast group, or nil.
	CanMulticast() error
	MulticastGranularity(devices int, bytes int64, fabric bool) (int64, error)
	CreateMulticast(devices int, bytes int64, fabric bool) (uint64, error)
	JoinMulticast(group uint64) error
	BindMulticast(group, memory uint64, bytes int64) error
	UnbindMulticast(group uint64) error
}

// multicastGroup is this rank's part of a multicast group.
type multicastGroup struct {
	unable error  // why the device cannot be in one
	export handle // what the rank has for the others
	object uint64
	bound  bool
}

// groupGranularity is what the size of memory must be a multiple of to be bound to the group, or 0
// where this device cannot be in one.
func (b *vmm) groupGranularity() int64 {
	var granularity int64
	if b.group.unable = b.CanMulticast(); b.group.unable == nil {
		granularity, b.group.unable = b.MulticastGranularity(b.world, b.bytes, b.fabric)
	}
	return granularity
}

// multicastSteps implements multicaster, in the order that the driver requires:
// memory is bound after all devices have joined, and the group is mapped after all memory is
// bound. Rank 0's file descriptor stays open until the last step.
func (b *vmm) multicastSteps(ctx context.Context, m *Memory) []step {
	return []step{
		{"able", func() error { return b.group.unable }},
		{"create", func() error { return b.createGroup(m.ex.Rank()) }},
		{"join", func() error { return b.joinGroup(ctx, m.ex) }},
		{"bind", b.bindGroup},
		{"map", func() (err error) {
			m.Multicast, err = b.MapMemory(b.group.object, b.size)
			return err
		}},
		{"close", b.closeExport},
	}
}

// createGroup creates the group on rank 0. The other ranks hand out an empty file, or no bytes,
// because the exchange of handles is collective.
func (b *vmm) createGroup(rank int) (err error) {
	if rank == 0 {
		if b.group.object, err = b.CreateMulticast(b.world, b.size, b.fabric); err == nil {
			b.group.export, err = b.exportHandle(b.group.object)
		}
		return err
	}
	if !b.fabric {
		b.group.export.file, err = os.Open(os.DevNull)
	}
	return err
}

func (b *vmm) joinGroup(ctx context.Context, ex Exchange) error {
	handles, err := b.exchange(ctx, ex, b.group.export)
	if err != nil {
		return fmt.Errorf("exchanging the multicast object: %w", err)
	}
	if ex.Rank() != 0 {
		b.group.object, err = b.importHandle(handles[0])
	}
	if err := errors.Join(err, closeAll(handles)); err != nil {
		return err
	}
	return b.JoinMulticast(b.group.object)
}

func (b *vmm) bindGroup() error {
	err := b.BindMulticast(b.group.object, b.own, b.size)
	b.group.bound = err == nil
	return err
}

func (b *vmm) closeExport() error {
	h := b.group.export
	b.group.export = handle{}
	return h.close()
}

func (b *vmm) unmapMulticast(ptr cudart.DevicePtr) error { return b.UnmapMemory(ptr) }

// leaveMulticast unbinds the rank's memory and releases the group.
func (b *vmm) leaveMulticast() error {
	failures := []error{b.closeExport()}
	if b.group.bound {
		failures = append(failures, b.UnbindMulticast(b.group.object))
	}
	if b.group.object != 0 {
		failures = append(failures, b.ReleaseMemory(b.group.object))
	}
	b.group = multicastGroup{}
	return errors.Join(failures...)
}
