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

// Comm is one rank's side of a group that runs collectives together: a
// device, everybody's symmetric memory, and the kernels loaded so far.
//
// Every rank makes the same calls in the same order. Like the device, it
// belongs to one goroutine.
type Comm struct {
	device  cudart.Device
	source  Source
	base    Params
	sms     int
	fault   cudart.HostBuffer
	modules map[string]cudart.Module
	kernels map[[2]string]cudart.Kernel
}

// Config is what a Comm needs to know.
type Config struct {
	Device cudart.Device
	Source Source
	// Rank is this process's; Peers holds the base of every rank's symmetric
	// memory as this device sees it, its own included. The memory begins with
	// a SignalPad that the Comm zeroes: a barrier of the processes must
	// separate New from the first call on any rank.
	Rank  int
	Peers []cudart.DevicePtr
	// ScratchOffset is the distance, in bytes, from the base to the scratch.
	ScratchOffset int64
	// SMs is the least number of multiprocessors among the ranks' devices:
	// all ranks must choose the same grids.
	SMs int
	// Timeout bounds every wait of a kernel for a peer.
	Timeout time.Duration
}

// New makes a Comm. The caller closes it.
func New(cfg Config) (*Comm, error) {
	if len(cfg.Peers) > MaxRanks {
		return nil, fmt.Errorf("%d ranks are too many: the kernels take up to %d", len(cfg.Peers), MaxRanks)
	}
	fault, err := cfg.Device.MallocHost(FaultBytes)
	if err != nil {
		return nil, fmt.Errorf("allocating the fault record: %w", err)
	}
	c := &Comm{
		device:  cfg.Device,
		source:  cfg.Source,
		sms:     cfg.SMs,
		fault:   fault,
		modules: map[string]cudart.Module{},
		kernels: map[[2]string]cudart.Kernel{},
		base: Params{
			Fault:         uint64(fault.DevicePtr()),
			TimeoutNS:     uint64(cfg.Timeout.Nanoseconds()),
			ScratchOffset: cfg.ScratchOffset,
			Rank:          uint32(cfg.Rank),
			World:         uint32(len(cfg.Peers)),
		},
	}
	for r, p := range cfg.Peers {
		c.base.Peers[r] = uint64(p)
	}
	if err := c.zeroSignalPad(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Comm) zeroSignalPad() error {
	s, err := c.device.NewStream()
	if err != nil {
		return fmt.Errorf("zeroing the signal pad: %w", err)
	}
	err = s.Upload(c.Local(0), make([]byte, SignalPadBytes))
	return errors.Join(err, s.Close())
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

// Params is the parameter block of a call; the algorithm fills in the rest.
func (c *Comm) Params(call Call) Params {
	p := c.base
	p.Count, p.SendOffset, p.RecvOffset = call.Count, call.Send, call.Recv
	return p
}

// Kernel returns an entry point of the algorithm's module for an element
// type, loading the module when it is first needed.
func (c *Comm) Kernel(a *Algorithm, d DType, entry string) (cudart.Kernel, error) {
	name := a.Module(d)
	key := [2]string{name, entry}
	if k, ok := c.kernels[key]; ok {
		return k, nil
	}
	m, err := c.module(name)
	if err != nil {
		return nil, err
	}
	k, err := m.Kernel(entry)
	if err != nil {
		return nil, fmt.Errorf("finding kernel %s in %s: %w", entry, name, err)
	}
	c.kernels[key] = k
	return k, nil
}

func (c *Comm) module(name string) (cudart.Module, error) {
	if m, ok := c.modules[name]; ok {
		return m, nil
	}
	text, err := c.source(name)
	if err != nil {
		return nil, err
	}
	m, err := c.device.LoadModule(name, text)
	if err != nil {
		return nil, fmt.Errorf("loading module %s: %w", name, err)
	}
	c.modules[name] = m
	return m, nil
}

// Grid shapes a launch over items units of work, one for each thread: as few
// blocks as give every thread work, but no more than maxBlocks, than the
// devices have multiprocessors, and than may meet at a barrier. All blocks are
// therefore resident, and all ranks choose alike.
func (c *Comm) Grid(items int64, maxBlocks int) cudart.Launch {
	const warp, maxThreads = 32, 512
	minThreads := (c.World() + warp - 1) / warp * warp
	threads := min(max((items+warp-1)/warp*warp, int64(minThreads)), maxThreads)
	blocks := (items + threads - 1) / threads
	return cudart.Launch{
		Blocks:  int(max(min(blocks, int64(maxBlocks), int64(c.sms), MaxBlocks), 1)),
		Threads: int(threads),
	}
}

// Err reports the wait that expired in a kernel, as a *TimeoutError, or nil.
// Once there is one, the group's epochs no longer agree and no further call
// may be made.
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

// Close unloads the kernels and frees the fault record. The symmetric memory
// stays the caller's.
func (c *Comm) Close() error {
	var errs []error
	for name, m := range c.modules {
		if err := m.Unload(); err != nil {
			errs = append(errs, fmt.Errorf("unloading module %s: %w", name, err))
		}
	}
	c.modules, c.kernels = nil, nil
	return errors.Join(append(errs, c.fault.Free())...)
}
