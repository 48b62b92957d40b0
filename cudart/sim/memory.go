package sim

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// granule is what allocations are rounded up to. An access that stays within
// it is not noticed as out of range.
const granule = 256

// seals keep an exported memfd at its size, so that no process can remove pages that another has
// mapped.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// history is that of all device memory in this process, which devices share. What other
// processes write is not in it.
var history exec.History

// allocation is a mapped memfd. An imported one has no file, a multicast one
// has members instead of memory.
type allocation struct {
	base    uint64
	size    int64  // as requested
	inode   uint64 // of the memfd, by which others know it that map it, too
	data    []byte
	file    *os.File
	host    bool
	members []*allocation
}

// memory is the address space of a device. Streams read it while the device's
// owner changes it.
//
// Pages take the machine's memory only when they are touched, and cannot be refused then: the limit
// refuses the allocation.
type memory struct {
	limit   int64 // of what the device allocates, in bytes
	mu      sync.RWMutex
	used    int64
	regions map[uint64]*allocation // by region number
	next    uint64                 // never reused, so that stale pointers fault
}

func newMemory(limit int64) *memory {
	return &memory{limit: limit, regions: map[uint64]*allocation{}, next: exec.FirstRegion}
}

// Resolve implements exec.Memory.
func (m *memory) Resolve(addr uint64) (exec.Region, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	a, ok := m.regions[addr>>exec.RegionShift]
	if !ok {
		return exec.Region{}, false
	}
	return a.region(), true
}

// bytes returns the host's view of a range within one allocation.
func (m *memory) bytes(ptr cudart.DevicePtr, n int64) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	r, ok := m.Resolve(uint64(ptr))
	off := uint64(ptr) - r.Base
	if !ok || n < 0 || off > uint64(len(r.Data)) || uint64(n) > uint64(len(r.Data))-off {
		return nil, fmt.Errorf("%d bytes at %#x are not within one allocation", n, uint64(ptr))
	}
	return r.Data[off : off+uint64(n)], nil
}

// allocate makes a zeroed allocation. Its pages take memory when touched.
func (m *memory) allocate(bytes int64) (*allocation, error) {
	if bytes <= 0 || bytes >= 1<<exec.RegionShift {
		return nil, fmt.Errorf("cannot allocate %d bytes: %w", bytes, cudart.ErrInvalidValue)
	}
	if left := m.limit - m.used; bytes > left {
		return nil, fmt.Errorf("%d bytes wanted, %d left of this device's share of the machine's available memory "+
			"(fewer devices have larger shares): %w", bytes, left, cudart.ErrOutOfMemory)
	}
	file, err := newMemfd((bytes + granule - 1) / granule * granule)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, cudart.ErrOutOfMemory)
	}
	a, err := m.mapFile(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	a.file, a.size = file, bytes
	m.used += bytes
	return a, nil
}

func newMemfd(size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("gpurun device memory", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("creating a memfd: %w", err)
	}
	file := os.NewFile(uintptr(fd), "device memory")
	if err := unix.Ftruncate(fd, size); err != nil {
		file.Close()
		return nil, fmt.Errorf("sizing a memfd: %w", err)
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		file.Close()
		return nil, fmt.Errorf("sealing a memfd: %w", err)
	}
	return file, nil
}

// mapFile maps all of a sealed memfd at a new device address.
func (m *memory) mapFile(file *os.File) (*allocation, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("asking for the size of device memory: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.New("device memory has no inode")
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping device memory: %w: %w", err, cudart.ErrOutOfMemory)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.insert(&allocation{size: info.Size(), data: data, inode: stat.Ino}), nil
}

// insert gives an allocation its address.
func (m *memory) insert(a *allocation) *allocation {
	a.base = m.next << exec.RegionShift
	m.regions[m.next] = a
	m.next++
	return a
}

// find returns the allocation that starts at ptr.
func (m *memory) find(ptr cudart.DevicePtr) (*allocation, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	a, ok := m.regions[uint64(ptr)>>exec.RegionShift]
	if !ok || a.base != uint64(ptr) {
		return nil, fmt.Errorf("no allocation starts at %#x; it may have been freed already", uint64(ptr))
	}
	return a, nil
}

// release unmaps an allocation. Nothing may be using it.
func (m *memory) release(a *allocation) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.regions, a.base>>exec.RegionShift)
	if a.members != nil {
		return nil
	}
	err := unix.Munmap(a.data)
	history.Forget(a.inode) // another mapping gets a new history with the next kernel
	if a.file != nil {
		m.used -= a.size
		a.file.Close()
	}
	return err
}

func (m *memory) releaseAll() error {
	var first error
	for _, a := range m.regions {
		if err := m.release(a); err != nil && first == nil {
			first = err
		}
	}
	return first
}
