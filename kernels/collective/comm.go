package collective

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"gpurun/cudart"
)

// Source gives the PTX of a module by name.
type Source func(module string) ([]byte, error)

// Comm is one rank's communicator: its device, the addresses of all ranks' symmetric memory,
// and the kernels loaded so far.
//
// Every rank makes the same calls in the same order. Like the device, it
// belongs to one goroutine.
type Comm struct {
	cfg      Config
	sm       int // compute capability
	base     Params
	fault    cudart.HostBuffer
	modules  map[[2]string]cudart.Module // by name and entry point
	entries  map[[2]string]cudart.Kernel // by module and name
	kernels  map[kernelKey]loaded        // by what calls need them for
	launched Params                      // of the last launch; reused, so that a launch allocates nothing
	side     sideStream
	states   map[any]any // see State
}

// Config configures a Comm.
type Config struct {
	Device cudart.Device
	Source Source
	// Rank is this process's. Peers holds the base of every rank's symmetric memory, its own
	// included, as addresses on this device. The memory begins with a SignalPad, which New
	// zeroes. A barrier of the processes must therefore separate New from the first call.
	Rank  int
	Peers []cudart.DevicePtr
	// Multicast is the base of the memory's multicast address, or 0.
	Multicast cudart.DevicePtr
	// ScratchOffset, PacketOffset and MailboxOffset are distances in bytes from the base.
	// PacketBytes is 0 or PacketAreaBytes; MailboxBytes is 0 or MailboxAreaBytes. The Comm
	// zeroes packets and mailboxes.
	ScratchOffset, PacketOffset, PacketBytes, MailboxOffset, MailboxBytes int64
	// SMs is the least number of multiprocessors among the ranks' devices:
	// all ranks must choose the same grids. MaxBlocks bounds them further
	// unless it is 0.
	SMs, MaxBlocks int
	// PDL enables programmatic dependent launch for kernels that wait for the kernel before
	// them by griddepcontrol.wait.
	PDL bool
	// BriefBytes is the size of a part up to which a call ends before the host can launch the
	// next one: see [cudart.Launch]. 0: no call does.
	BriefBytes int64
	// Timeout bounds every wait of a kernel for a peer.
	Timeout time.Duration
	// Areas are where the areas of algorithms begin: see Algorithm.Areas.
	Areas map[any][]PlacedArea
	// Libraries are external libraries of collectives, such as NCCL, by name. The caller
	// closes them.
	Libraries map[string]Library
}

// PacketAreaBytes is the size, in bytes, of the packets for grids of up to so many blocks.
func PacketAreaBytes(blocks int) int64 {
	return 2 * PacketSlotBytes * int64(min(blocks, maxPacketBlocks))
}

// maxPacketBlocks is the largest grid at the sizes where packets are faster.
const maxPacketBlocks = 64

// MailboxAreaBytes is the size of the mailboxes for grids of up to so many blocks.
func MailboxAreaBytes(blocks int) int64 { return 2 * MailboxSlotBytes * int64(min(blocks, MaxBlocks)) }

// New makes a Comm. The caller closes it.
func New(cfg Config) (*Comm, error) {
	switch {
	case len(cfg.Peers) > MaxRanks:
		return nil, fmt.Errorf("%d ranks are too many: the kernels take up to %d", len(cfg.Peers), MaxRanks)
	case cfg.Rank < 0 || cfg.Rank >= len(cfg.Peers):
		return nil, fmt.Errorf("there is no rank %d among %d", cfg.Rank, len(cfg.Peers))
	case cfg.Timeout <= 0:
		return nil, fmt.Errorf("a timeout of %v leaves no time to wait for a peer", cfg.Timeout)
	}
	fault, err := cfg.Device.MallocHost(FaultBytes)
	if err != nil {
		return nil, fmt.Errorf("allocating the fault record: %w", err)
	}
	info := cfg.Device.Info()
	c := &Comm{
		cfg:     cfg,
		sm:      10*info.Major + info.Minor,
		fault:   fault,
		modules: map[[2]string]cudart.Module{},
		entries: map[[2]string]cudart.Kernel{},
		kernels: map[kernelKey]loaded{},
		states:  map[any]any{},
		base: Params{
			Multicast:     uint64(cfg.Multicast),
			Fault:         uint64(fault.DevicePtr()),
			TimeoutNS:     uint64(cfg.Timeout.Nanoseconds()),
			ScratchOffset: cfg.ScratchOffset,
			PacketOffset:  cfg.PacketOffset,
			Rank:          uint32(cfg.Rank),
			World:         uint32(len(cfg.Peers)),
		},
	}
	for r, p := range cfg.Peers {
		c.base.Peers[r] = uint64(p)
	}
	if c.side, err = newSideStream(cfg.Device); err != nil {
		return nil, errors.Join(fmt.Errorf("making a stream: %w", err), c.Close())
	}
	if err := c.zeroShared(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// zeroShared clears the signal pad, the packets and the mailboxes, and waits for it.
func (c *Comm) zeroShared() error {
	s := c.side.stream
	for _, area := range [][2]int64{{c.cfg.PacketOffset, c.cfg.PacketBytes}, {c.cfg.MailboxOffset, c.cfg.MailboxBytes}} {
		if offset, bytes := area[0], area[1]; bytes > 0 {
			if err := s.Fill(c.Local(offset), 0, bytes); err != nil {
				return fmt.Errorf("zeroing packets and mailboxes: %w", err)
			}
		}
	}
	// The upload waits for the clears before it.
	if err := s.Upload(c.Local(0), make([]byte, SignalPadBytes)); err != nil {
		return fmt.Errorf("zeroing the signal pad: %w", err)
	}
	return nil
}

// Rank is this process's rank.
func (c *Comm) Rank() int { return int(c.base.Rank) }

// World is the number of ranks.
func (c *Comm) World() int { return int(c.base.World) }

// Local is the address of this rank's symmetric memory at an offset in bytes.
func (c *Comm) Local(offset int64) cudart.DevicePtr { return c.Peer(c.Rank(), offset) }

// Peer is the address of a rank's symmetric memory at an offset in bytes.
func (c *Comm) Peer(rank int, offset int64) cudart.DevicePtr {
	return cudart.DevicePtr(c.base.Peers[rank] + uint64(offset))
}

// Scratch is the offset of the scratch, in bytes.
func (c *Comm) Scratch() int64 { return c.base.ScratchOffset }

// SM is the device's compute capability, 10*major+minor.
func (c *Comm) SM() int { return c.sm }

// Params is the parameter block of a call; the algorithm fills in TileBytes, and
// Phase for a barrier.
func (c *Comm) Params(call Call) Params {
	p := c.base
	p.PartBytes = call.Bytes()
	p.SendOffset, p.SendStep, p.RecvOffset = call.Send, call.SendStep, call.Recv
	p.Root = uint32(call.Root)
	p.Op = operationNumber(call.Op)
	e := call.Epilogue
	p.RowBytes = e.Row * int64(call.DType.Size)
	p.WeightOffset, p.ResidualOffset, p.ResidualOutOffset = e.Weight, e.Residual, e.ResidualOut
	p.Scale, p.Epsilon = e.Scale, e.Epsilon
	return p
}

// Err returns a *TimeoutError if a wait in a kernel timed out, else nil. After a timeout the
// ranks' epochs may differ, and no further call may be made.
func (c *Comm) Err() error {
	f := (*Fault)(unsafe.Pointer(unsafe.SliceData(c.fault.Bytes())))
	if atomic.LoadUint32(&f.State) == 0 {
		return nil
	}
	return &TimeoutError{
		Rank: int(f.Rank), Peer: int(f.Peer), Phase: f.Phase,
		Block: int(f.Block), Expected: f.Expected, Seen: f.Seen,
	}
}

// Close unloads the kernels, closes the stream and frees the fault record. It does not free the
// symmetric memory, which belongs to the caller.
func (c *Comm) Close() error {
	var errs []error
	for key, m := range c.modules {
		if err := m.Unload(); err != nil {
			errs = append(errs, fmt.Errorf("unloading module %s: %w", key[0], err))
		}
	}
	c.modules, c.entries, c.kernels = nil, nil, nil
	return errors.Join(append(errs, c.side.close(), c.fault.Free())...)
}
