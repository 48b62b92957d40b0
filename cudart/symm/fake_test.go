package symm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"gpurun/cudart"
)

// hub gathers in one process what ranks would gather over sockets.
type hub struct {
	world int
	mu    sync.Mutex
	round map[string]*round
}

type round struct {
	values []any
	left   int
	full   chan struct{}
}

func newHub(world int) *hub { return &hub{world: world, round: map[string]*round{}} }

func (h *hub) gather(ctx context.Context, name string, rank int, mine any) ([]any, error) {
	h.mu.Lock()
	r := h.round[name]
	if r == nil {
		r = &round{values: make([]any, h.world), left: h.world, full: make(chan struct{})}
		h.round[name] = r
	}
	r.values[rank] = mine
	if r.left--; r.left == 0 {
		close(r.full)
		delete(h.round, name)
	}
	h.mu.Unlock()
	select {
	case <-r.full:
		return r.values, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// member is one rank's Exchange. tamper may change what it sends, and short
// loses the last of the files that it receives.
type member struct {
	hub    *hub
	rank   int
	tamper func(round string, mine []byte) []byte
	short  bool
}

func (m member) Rank() int      { return m.rank }
func (m member) WorldSize() int { return m.hub.world }

func (m member) AllGather(ctx context.Context, name string, mine []byte) ([][]byte, error) {
	if m.tamper != nil {
		mine = m.tamper(name, mine)
	}
	values, err := m.hub.gather(ctx, name, m.rank, mine)
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(values))
	for i, v := range values {
		all[i] = v.([]byte)
	}
	return all, nil
}

func (m member) AllGatherFiles(ctx context.Context, name string, mine *os.File) ([]*os.File, error) {
	var copies []*os.File
	for range m.hub.world {
		number, err := unix.FcntlInt(mine.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		copies = append(copies, os.NewFile(uintptr(number), "copy"))
	}
	values, err := m.hub.gather(ctx, name, m.rank, copies)
	if err != nil {
		return nil, err
	}
	all := make([]*os.File, len(values))
	for rank, v := range values {
		all[rank] = v.([]*os.File)[m.rank]
	}
	err = errors.Join(all[m.rank].Close(), dropOwn(all, m.rank))
	if last := len(all) - 1; m.short {
		return all[:last], errors.Join(err, all[last].Close())
	}
	return all, err
}

func dropOwn(all []*os.File, rank int) error {
	all[rank] = nil
	return nil
}

// fabric knows the memory of all fake devices and who maps it.
type fabric struct {
	mu      sync.Mutex
	next    cudart.DevicePtr
	mappers map[cudart.DevicePtr]int              // own memory -> number of mappings
	mapped  map[cudart.DevicePtr]cudart.DevicePtr // mapping -> memory
	byInode map[uint64]cudart.DevicePtr
	// hosts are mappings of host memory, by the file, and multicasts are
	// multicast addresses, by their members.
	hosts      map[cudart.DevicePtr]uint64
	multicasts map[cudart.DevicePtr][]cudart.DevicePtr
	early      []string // frees of memory that was still mapped
}

func newFabric() *fabric {
	return &fabric{
		next:       0x1000,
		mappers:    map[cudart.DevicePtr]int{},
		mapped:     map[cudart.DevicePtr]cudart.DevicePtr{},
		byInode:    map[uint64]cudart.DevicePtr{},
		hosts:      map[cudart.DevicePtr]uint64{},
		multicasts: map[cudart.DevicePtr][]cudart.DevicePtr{},
	}
}

func (f *fabric) address() cudart.DevicePtr {
	f.next += 0x1000
	return f.next
}

func (f *fabric) open(memory cudart.DevicePtr) (cudart.DevicePtr, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.mappers[memory]; !ok {
		return 0, &cudart.Error{Op: "open", Code: cudart.ErrInvalidHandle}
	}
	f.mappers[memory]++
	ptr := f.address()
	f.mapped[ptr] = memory
	return ptr, nil
}

func (f *fabric) release(ptr cudart.DevicePtr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.multicasts[ptr]; ok {
		delete(f.multicasts, ptr)
		return nil
	}
	for address, members := range f.multicasts {
		if slices.Contains(members, ptr) {
			f.early = append(f.early, fmt.Sprintf("%#x freed while a member of %#x", ptr, address))
		}
	}
	if memory, ok := f.mapped[ptr]; ok {
		f.mappers[memory]--
		delete(f.mapped, ptr)
		return nil
	}
	n, ok := f.mappers[ptr]
	if !ok {
		return &cudart.Error{Op: "release", Code: cudart.ErrInvalidValue}
	}
	if n != 0 {
		f.early = append(f.early, fmt.Sprintf("%#x freed while mapped %d times", ptr, n))
	}
	delete(f.mappers, ptr)
	return nil
}

// device is the part that all fake devices share. Methods that symm has no
// business calling are nil and would crash the test.
type device struct {
	cudart.Device
	fabric    *fabric
	mallocErr error
	openErr   error
	hostErr   error

	multicastErr error
}

func (d *device) Info() cudart.Info { return cudart.Info{Name: "fake", Backend: "test"} }

func (d *device) Malloc(int64) (cudart.DevicePtr, error) {
	if d.mallocErr != nil {
		return 0, d.mallocErr
	}
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	ptr := d.fabric.address()
	d.fabric.mappers[ptr] = 0
	return ptr, nil
}

func (d *device) Free(ptr cudart.DevicePtr) error { return d.fabric.release(ptr) }

// byHandle is a fake ipcDevice, byFile a fake fdDevice.
type (
	byHandle struct{ *device }
	byFile   struct{ *device }
)

func (d byHandle) ExportIPC(ptr cudart.DevicePtr) ([64]byte, error) {
	var h [64]byte
	copy(h[:], fmt.Sprintf("%d", ptr))
	return h, nil
}

func (d byHandle) ImportIPC(h [64]byte) (cudart.DevicePtr, error) {
	if d.openErr != nil {
		return 0, d.openErr
	}
	var memory cudart.DevicePtr
	if _, err := fmt.Sscanf(string(h[:]), "%d", &memory); err != nil {
		return 0, &cudart.Error{Op: "open", Code: cudart.ErrInvalidHandle}
	}
	return d.fabric.open(memory)
}

func (d byHandle) CloseIPC(ptr cudart.DevicePtr) error { return d.fabric.release(ptr) }

func (d byFile) ExportFD(ptr cudart.DevicePtr) (*os.File, error) {
	number, err := unix.MemfdCreate("fake", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(number), "fake")
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	node, err := inode(f)
	d.fabric.byInode[node] = ptr
	return f, err
}

func (d byFile) ImportFD(f *os.File) (cudart.DevicePtr, error) {
	if d.openErr != nil {
		return 0, d.openErr
	}
	node, err := inode(f)
	if err != nil {
		return 0, err
	}
	d.fabric.mu.Lock()
	memory := d.fabric.byInode[node]
	d.fabric.mu.Unlock()
	return d.fabric.open(memory)
}

// withHost can also map host memory, withMulticast make multicast addresses.
type (
	withHost      struct{ byHandle }
	withMulticast struct{ byFile }
)

func (d withHost) ImportHost(f *os.File) (cudart.DevicePtr, error) {
	if d.hostErr != nil {
		return 0, d.hostErr
	}
	info, err := f.Stat()
	if err != nil || info.Size() < 4096 || info.Size()%int64(os.Getpagesize()) != 0 {
		return 0, fmt.Errorf("the file has %d bytes: %w", info.Size(), cudart.ErrInvalidValue)
	}
	if err := f.Truncate(0); err == nil {
		return 0, fmt.Errorf("the file can shrink: %w", cudart.ErrInvalidValue)
	}
	node, err := inode(f)
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	ptr := d.fabric.address()
	d.fabric.hosts[ptr] = node
	return ptr, err
}

func (d withHost) CloseHost(ptr cudart.DevicePtr) error {
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	if _, ok := d.fabric.hosts[ptr]; !ok {
		return &cudart.Error{Op: "CloseHost", Code: cudart.ErrInvalidValue}
	}
	delete(d.fabric.hosts, ptr)
	return nil
}

func (d withMulticast) Multicast(members []cudart.DevicePtr) (cudart.DevicePtr, error) {
	if d.multicastErr != nil {
		return 0, d.multicastErr
	}
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	for _, ptr := range members {
		if ptr == 0 {
			return 0, &cudart.Error{Op: "Multicast", Code: cudart.ErrInvalidValue}
		}
	}
	ptr := d.fabric.address()
	d.fabric.multicasts[ptr] = slices.Clone(members)
	return ptr, nil
}

func inode(f *os.File) (uint64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Sys().(*syscall.Stat_t).Ino, nil
}
