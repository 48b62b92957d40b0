package nvshmem

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"
)

// Structures and their versions are nvshmem_types.h's. A version is a number of
// its own in the upper half, and the structure's size in the lower.
const (
	uniqueIDVersion     = 1<<16 + 128
	uniqueIDArgsVersion = 1<<16 + 24
	initArgsVersion     = 2<<16 + 128
	initAttrVersion     = 2<<16 + 144
	withUniqueID        = 8  // NVSHMEMX_INIT_WITH_UNIQUEID
	unset               = -1 // of a rank, a world size, or a device
)

// initAttr is nvshmemx_init_attr_v2. Versions before 3.5 know the first version
// of it, which differs in having no device, and take the current context's.
type initAttr struct {
	version int32
	mpiComm uintptr
	args    initArgs
}

type initArgs struct {
	version int32
	uid     uniqueIDArgs
	device  int32
	_       [92]byte
}

type uniqueIDArgs struct {
	version int32
	id      uintptr // *uniqueID
	rank    int32
	world   int32
}

// setup is what NVSHMEM reads during and after initialization: it keeps the
// address of the unique id. The pins hold both in place.
type setup struct {
	attr initAttr
	id   [128]byte
	pins runtime.Pinner
}

func newSetup(id [128]byte, device int) *setup {
	s := &setup{id: id}
	s.pins.Pin(s)
	s.attr.version = initAttrVersion
	s.attr.args.version = initArgsVersion
	s.attr.args.uid = uniqueIDArgs{version: uniqueIDArgsVersion, rank: unset, world: unset}
	s.attr.args.device = int32(device)
	return s
}

// NewUniqueID makes the id by which the ranks of a job find each other. One
// rank makes it and tells it to the others. It opens a socket that this process
// has to keep until all ranks are initialized.
func (l *Library) NewUniqueID() ([128]byte, error) {
	id := new([128]byte)
	*(*int32)(unsafe.Pointer(id)) = uniqueIDVersion
	f := l.fns.getUniqueID
	err := check(f, f.Call(uintptr(unsafe.Pointer(id))))
	return *id, err
}

// Init joins the job that id names as one of world ranks, on a CUDA device whose
// primary context is current. All ranks call it, and it waits for all of them
// without a bound of its own: the caller watches the time.
func (l *Library) Init(rank, world int, id [128]byte, device int) error {
	if l.setup != nil {
		return errors.New("initializing NVSHMEM: this process has done so already")
	}
	s := newSetup(id, device)
	if err := l.initialize(s, rank, world); err != nil {
		// The pins stay: what NVSHMEM still reads after a failure is unknown.
		return fmt.Errorf("initializing NVSHMEM as rank %d of %d on device %d: %w", rank, world, device, err)
	}
	l.setup = s
	return nil
}

func (l *Library) initialize(s *setup, rank, world int) error {
	attr := uintptr(unsafe.Pointer(&s.attr))
	set, start := l.fns.setUniqueIDArgs, l.fns.initAttr
	if err := check(set, set.Call(uintptr(rank), uintptr(world), uintptr(unsafe.Pointer(&s.id)), attr)); err != nil {
		return err
	}
	if err := check(start, start.Call(withUniqueID, attr)); err != nil {
		return err
	}
	return l.verify(rank, world)
}

// verify asks whether the library is really up: initialization reports success
// where the ranks have met and the device could not be set up, and the next
// call would end the process.
func (l *Library) verify(rank, world int) error {
	const initialized = 2 // NVSHMEM_STATUS_IS_INITIALIZED
	if status := l.fns.initStatus.Call(); status < initialized {
		return fmt.Errorf("the ranks met, but the GPU could not be set up (status %d); "+
			"NVSHMEM_DEBUG=INFO says more", status)
	}
	pe, pes := l.fns.myPE.Call(), l.fns.nPEs.Call()
	if int(pe) != rank || int(pes) != world {
		return fmt.Errorf("the library believes to be PE %d of %d", pe, pes)
	}
	return nil
}

// Finalize leaves the job and frees the symmetric heap. All ranks call it, and
// it waits for all of them. It does nothing where Init has not succeeded.
func (l *Library) Finalize() error {
	if l.setup == nil {
		return nil
	}
	l.fns.finalize.Call()
	l.setup.pins.Unpin()
	l.setup = nil
	return nil
}
