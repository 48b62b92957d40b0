package symm

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"gpurun/cudart"
)

// hostDevice maps memfds that any process of this machine made. The files
// belong to the caller.
type hostDevice interface {
	ImportHost(f *os.File) (cudart.DevicePtr, error)
	CloseHost(ptr cudart.DevicePtr) error
}

// host shares memory of the host, a memfd per rank, by file descriptors.
type host struct {
	hostDevice
	world int
	own   *os.File // from malloc until export
}

// hostCandidates is the backend of a device that maps memory of the host.
func hostCandidates(dev cudart.Device, m *Memory) []backend {
	d, ok := dev.(hostDevice)
	if !ok {
		return nil
	}
	return []backend{&host{hostDevice: d, world: m.ex.WorldSize()}}
}

func (*host) kind() Kind  { return Host }
func (*host) how() string { return "peers share memory of the host" }

// malloc makes the own memfd and maps it.
func (b *host) malloc(bytes int64) (cudart.DevicePtr, error) {
	if err := b.wantRoom(bytes); err != nil {
		return 0, err
	}
	file, err := newMemfd(bytes)
	if err != nil {
		return 0, err
	}
	ptr, err := b.ImportHost(file)
	if err != nil {
		file.Close()
		return 0, err
	}
	b.own = file
	return ptr, nil
}

func (b *host) export(cudart.DevicePtr) (handle, error) {
	h := handle{file: b.own}
	b.own = nil
	return h, nil
}

func (b *host) exchange(ctx context.Context, ex Exchange, mine handle) ([]handle, error) {
	return exchangeFiles(ctx, ex, mine.file)
}

func (b *host) open(_ int, h handle) (cudart.DevicePtr, error) {
	f, err := h.received()
	if err != nil {
		return 0, err
	}
	return b.ImportHost(f)
}

func (b *host) unmap(ptr cudart.DevicePtr) error { return b.CloseHost(ptr) }
func (b *host) free(ptr cudart.DevicePtr) error  { return b.CloseHost(ptr) }

// newMemfd makes zeroed memory of whole pages, sealed against changes of its size.
func newMemfd(bytes int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("gpurun symmetric memory", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("creating a memfd: %w", err)
	}
	file := os.NewFile(uintptr(fd), "symmetric memory")
	page := int64(os.Getpagesize())
	if err := file.Truncate((bytes + page - 1) / page * page); err != nil {
		file.Close()
		return nil, fmt.Errorf("sizing a memfd: %w", err)
	}
	const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		file.Close()
		return nil, fmt.Errorf("sealing a memfd: %w", err)
	}
	return file, nil
}

// wantRoom refuses what would have the machine run out of memory: the kernel
// would not refuse it but kill a process once the pages are used. A rank that is
// late counts its peers' memory twice, so that the last half of the machine's
// memory may be refused.
func (b *host) wantRoom(bytes int64) error {
	available, err := availableMemory()
	if err != nil {
		return err
	}
	if bytes > available/int64(b.world) {
		return fmt.Errorf("%d ranks want %d bytes of host memory each, and the machine has %d available; "+
			"try smaller sizes: %w",
			b.world, bytes, available, cudart.ErrOutOfMemory)
	}
	return nil
}

// availableMemory is what the machine can give without swapping, in bytes.
func availableMemory() (int64, error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("asking for the machine's memory: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), "MemAvailable:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(text, "kB")), 10, 64)
		return kib << 10, err
	}
	return 0, fmt.Errorf("asking for the machine's memory: /proc/meminfo does not say MemAvailable")
}
