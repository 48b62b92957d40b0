// Package symm allocates symmetric memory: the same number of bytes on every
// rank, with every rank holding device pointers to all of them.
//
// How a rank maps a peer's memory differs between memory backends (traits.go lists them), behind the
// unexported interface backend. The protocol around it is the same for all backends, and every step is
// collective:
//
//	this rank                               all ranks
//	ask the device what it can do
//	report what it can, or not     <----->  take the backend that all can, or fail
//	allocate, export a handle
//	report failure                 <----->  all agree, or all free and fail
//	hand out the handle            <----->  receive the peers' handles
//	map every peer
//	report failure                 <----->  all mapped, or all unmap, free and fail
//	a step to a multicast address
//	report failure, for each step  <----->  all go on, or all do without
//
// A rank that fails says so in the next report instead of leaving, so that
// its peers get the cause at once and do not wait for their time-out.
package symm

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gpurun/cudart"
)

// Exchange is what symm needs from the rendezvous. Every rank calls the same
// methods with the same names in the same order; a name may come again, for
// the next allocation, and then is an exchange of its own.
type Exchange interface {
	Rank() int
	WorldSize() int
	// AllGather returns what every rank passed, indexed by rank.
	AllGather(ctx context.Context, name string, mine []byte) ([][]byte, error)
	// AllGatherFiles returns every other rank's file, indexed by rank; the
	// own entry is nil. The caller closes them, and mine.
	AllGatherFiles(ctx context.Context, name string, mine *os.File) ([]*os.File, error)
}

// The steps of the protocol, as named to the Exchange: what the reports are about.
const (
	stepBackend   = "symm/backend"
	stepLibrary   = "symm/library"
	stepAllocated = "symm/allocated"
	stepHandles   = "symm/handles"
	stepMapped    = "symm/mapped"
	stepUnmapped  = "symm/unmapped"

	stepMulticast = "symm/multicast/" // and the step's name
)

// Memory is this rank's view of one symmetric allocation. The device owns
// the memory until Free.
type Memory struct {
	// Local is this rank's own memory.
	Local cudart.DevicePtr
	// Peers holds the device pointers to every rank's memory, indexed by
	// rank. The own entry is Local.
	Peers []cudart.DevicePtr
	// Multicast is the address of the same memory on all ranks at once: a
	// multimem load reduces over them, a multimem store reaches them all. It
	// is 0 unless [Options].Multicast asked for it.
	Multicast cudart.DevicePtr
	// MulticastWhy says why there is no address that was asked for.
	MulticastWhy string
	// Bytes is the size of the memory on each rank.
	Bytes int64
	// Backend names the memory backend, which is never Auto. Why says in a clause why it is that one.
	Backend, Why string

	options       Options
	ex            Exchange
	backend       backend
	session       librarySession // the backend while its library is in use
	peerLost      bool           // a rank did not come to an exchange
	backendChosen bool           // all ranks have taken the backend
	multicaster   multicaster    // the backend while it has something of a multicast address
}

// Allocate allocates bytes on every rank of ex and maps all of them on dev.
// It is collective. The contents are undefined: a rank that needs zeros writes them before a barrier
// of all ranks.
//
// It fails on all ranks or on none, as far as ex delivers; what it had
// allocated is then freed. Where the cause is that a GPU has no access to a
// peer's, all ranks get an [NoPeerAccessError]. ctx bounds every wait for a peer.
func Allocate(ctx context.Context, dev cudart.Device, ex Exchange, bytes int64, o Options) (*Memory, error) {
	m := &Memory{Bytes: bytes, Peers: make([]cudart.DevicePtr, ex.WorldSize()), options: o, ex: ex}
	err := m.allocate(ctx, dev)
	if err != nil && m.mayBeIPC(err) {
		return m.allocateByIPC(ctx, dev, err)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Memory) allocate(ctx context.Context, dev cudart.Device) error {
	if err := m.chooseBackend(ctx, dev); err != nil {
		return err
	}
	if err := m.initLibrary(ctx); err != nil {
		return err
	}
	m.backendChosen = true
	m.options.onStep(Allocating)
	mine, failure := m.allocateLocal()
	m.options.onStep(Exchanging)
	if err := m.agree(ctx, stepAllocated, failure); err != nil {
		return errors.Join(err, mine.close(), m.freeLocal())
	}
	failure = errors.Join(m.mapPeers(ctx, mine), mine.close())
	err := m.agree(ctx, stepMapped, failure)
	if err == nil {
		err = m.makeMulticast(ctx)
	}
	if err != nil {
		return errors.Join(err, m.Free(ctx))
	}
	return nil
}

// mayBeIPC reports, the same on all ranks, whether memory that was to be shared by
// VMM may as well be by IPC after VMM has failed all the same.
func (m *Memory) mayBeIPC(failed error) bool {
	_, vmm := m.backend.(*vmm)
	unreachable := errors.As(failed, new(*NoPeerAccessError))
	return vmm && m.backendChosen && !m.peerLost && !unreachable && m.options.kind() == Auto && !m.options.Multicast
}

// allocateByIPC is Allocate once more, after VMM has failed.
func (m *Memory) allocateByIPC(ctx context.Context, dev cudart.Device, failed error) (*Memory, error) {
	o := m.options
	o.Kind = IPC
	other, err := Allocate(ctx, dev, m.ex, m.Bytes, o)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	other.Why = fmt.Sprintf("%s, because VMM failed: %s", other.backend.how(), inOneLine(failed))
	return other, nil
}

// Free unmaps the peers' memory, waits until every peer has done the same,
// and frees the own. It is collective; ctx bounds the wait. When a peer does
// not come, the own memory stays allocated until the device closes, since that peer may still use
// it. A second Free does nothing.
func (m *Memory) Free(ctx context.Context) error {
	if m.Local == 0 {
		return nil
	}
	unmapped := errors.Join(m.unmapMulticast(), m.unmapPeers())
	if err := m.awaitPeers(ctx); err != nil {
		return errors.Join(unmapped, fmt.Errorf("keeping symmetric memory until the device closes: %w", err))
	}
	return errors.Join(unmapped, m.leaveMulticast(), m.freeLocal())
}

// awaitPeers returns when no peer maps the own memory any more.
func (m *Memory) awaitPeers(ctx context.Context) error {
	if !m.shared() {
		return nil
	}
	_, err := m.gather(ctx, stepUnmapped, report{})
	return err
}

func (m *Memory) shared() bool { return m.backend.kind() != Private }

// allocateLocal allocates the own memory and makes a handle for the peers.
func (m *Memory) allocateLocal() (handle, error) {
	var err error
	if m.Local, err = m.backend.malloc(m.Bytes); err != nil {
		return handle{}, fmt.Errorf("allocating %d bytes of symmetric memory: %w", m.Bytes, err)
	}
	m.Peers[m.ex.Rank()] = m.Local
	h, err := m.backend.export(m.Local)
	if err != nil {
		return handle{}, fmt.Errorf("exporting symmetric memory: %w", err)
	}
	return h, nil
}

// mapPeers exchanges handles and maps every peer's memory.
func (m *Memory) mapPeers(ctx context.Context, mine handle) error {
	handles, err := m.backend.exchange(ctx, m.ex, mine)
	if err != nil {
		return fmt.Errorf("exchanging memory handles: %w", err)
	}
	m.options.onStep(Mapping)
	var failures []error
	for rank, h := range handles {
		if rank != m.ex.Rank() && m.shared() {
			failures = append(failures, m.mapPeer(rank, h))
		}
		failures = append(failures, h.close())
	}
	return errors.Join(failures...)
}

func (m *Memory) mapPeer(rank int, h handle) error {
	ptr, err := m.backend.open(rank, h)
	m.Peers[rank] = ptr
	if err != nil {
		return explain(m.ex.Rank(), rank, err)
	}
	return nil
}

func (m *Memory) unmapPeers() error {
	var failures []error
	for rank, ptr := range m.Peers {
		if rank == m.ex.Rank() || ptr == 0 {
			continue
		}
		if err := m.backend.unmap(ptr); err != nil {
			failures = append(failures, fmt.Errorf("unmapping memory of rank %d: %w", rank, err))
		}
		m.Peers[rank] = 0
	}
	return errors.Join(failures...)
}

// freeLocal frees the own memory and leaves the library that it came from.
func (m *Memory) freeLocal() error {
	var err error
	if m.Local != 0 {
		err = m.backend.free(m.Local)
	}
	m.Local, m.Peers[m.ex.Rank()] = 0, 0
	if err != nil {
		err = fmt.Errorf("freeing symmetric memory: %w", err)
	}
	return errors.Join(err, m.finalizeLibrary())
}
