package symm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gpurun/cudart"
)

// multicaster is a backend that can make an address of all ranks' memory.
type multicaster interface {
	// multicastSteps make the address of memory that all ranks have mapped, and
	// set Multicast.
	multicastSteps(ctx context.Context, m *Memory) []step
	// unmapMulticast ends this rank's address, while others may use theirs.
	unmapMulticast(ptr cudart.DevicePtr) error
	// leaveMulticast gives back the rest of what the steps made. No rank uses an
	// address any more.
	leaveMulticast() error
}

// step is a part of creating a multicast address. All ranks finish a step before
// any of them begins the next.
type step struct {
	name string
	do   func() error
}

// makeMulticast makes the multicast address on all ranks or on none. Where a rank
// fails, MulticastWhy says how on all of them, and that is no error.
func (m *Memory) makeMulticast(ctx context.Context) error {
	b, ok := m.backend.(multicaster)
	if !ok || !m.options.Multicast {
		return nil
	}
	m.multicaster = b
	for _, s := range b.multicastSteps(ctx, m) {
		failure := s.do()
		reports, err := m.gather(ctx, stepMulticast+s.name, m.report(failure))
		if err != nil {
			return errors.Join(failure, err)
		}
		if err := m.verdict(reports, failure); err != nil {
			err = fmt.Errorf("making a multicast address: %w", err)
			err = errors.Join(err, m.unmapMulticast(), m.leaveMulticast())
			m.MulticastWhy = inOneLine(err)
			return nil
		}
	}
	return nil
}

func (m *Memory) unmapMulticast() error {
	if m.Multicast == 0 {
		return nil
	}
	ptr := m.Multicast
	m.Multicast = 0
	if err := m.multicaster.unmapMulticast(ptr); err != nil {
		return fmt.Errorf("freeing the multicast address: %w", err)
	}
	return nil
}

func (m *Memory) leaveMulticast() error {
	if m.multicaster == nil {
		return nil
	}
	b := m.multicaster
	m.multicaster = nil
	if err := b.leaveMulticast(); err != nil {
		return fmt.Errorf("leaving the multicast object: %w", err)
	}
	return nil
}

func inOneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
