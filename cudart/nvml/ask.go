package nvml

import (
	"errors"
	"fmt"
	"unsafe"
)

// memory2 is nvmlMemory_v2_t, 40 bytes, in bytes.
type memory2 struct {
	Version                     uint32
	_                           uint32
	Total, Reserved, Free, Used uint64
}

const memory2Version = 0x02000028 // the struct's version and size, as NVML wants it

func (l *Library) askMemory(handle uintptr, to *Health) error {
	m := memory2{Version: memory2Version}
	err := call(l.fns.memory2, handle, uintptr(unsafe.Pointer(&m)))
	if err == nil {
		to.Memory = &MemoryUse{Total: int64(m.Total), Reserved: int64(m.Reserved), Used: int64(m.Used)}
	}
	if !unknowable(err) {
		return err
	}
	var old memory
	if err := call(l.fns.memory, handle, uintptr(unsafe.Pointer(&old))); err != nil {
		return err
	}
	to.Memory = &MemoryUse{Total: int64(old.Total), Used: int64(old.Used)}
	return nil
}

func (l *Library) askMIG(handle uintptr, to *Health) error {
	var current, pending uint32
	err := call(l.fns.mig, handle, uintptr(unsafe.Pointer(&current)), uintptr(unsafe.Pointer(&pending)))
	if err == nil {
		to.MIG = &Mode{On: current != 0, Pending: pending != 0}
	}
	return err
}

// The kinds of error of nvmlMemoryErrorType_t, and the counters since the driver
// was loaded.
const (
	eccCorrected, eccUncorrected = 0, 1
	eccVolatile                  = 0
)

func (l *Library) askECC(handle uintptr, to *Health) error {
	var current, pending int32
	err := call(l.fns.eccMode, handle, uintptr(unsafe.Pointer(&current)), uintptr(unsafe.Pointer(&pending)))
	if err != nil {
		return err
	}
	to.ECC = &ECC{Mode: Mode{On: current != 0, Pending: pending != 0}}
	if current == 0 {
		return nil
	}
	return errors.Join(
		call(l.fns.eccErrors, handle, eccCorrected, eccVolatile, uintptr(unsafe.Pointer(&to.ECC.Corrected))),
		call(l.fns.eccErrors, handle, eccUncorrected, eccVolatile, uintptr(unsafe.Pointer(&to.ECC.Uncorrected))),
	)
}

func (l *Library) askRemapped(handle uintptr, to *Health) error {
	var correctable, uncorrectable, pending, failed uint32
	err := call(l.fns.remapped, handle, uintptr(unsafe.Pointer(&correctable)), uintptr(unsafe.Pointer(&uncorrectable)),
		uintptr(unsafe.Pointer(&pending)), uintptr(unsafe.Pointer(&failed)))
	if err == nil {
		to.Remapped = &RemappedRows{int(correctable), int(uncorrectable), pending != 0, failed != 0}
	}
	return err
}

// processInfo is nvmlProcessInfo_t, 24 bytes.
type processInfo struct {
	PID                              uint32
	_                                uint32
	Bytes                            uint64 // all bits set: not told
	GPUInstanceID, ComputeInstanceID uint32
}

func (l *Library) askProcesses(handle uintptr, to *Health) error {
	const attempts = 3 // more may have started since the library said how many there are
	infos := make([]processInfo, 32)
	for range attempts {
		count := uint32(len(infos))
		err := call(l.fns.processes, handle, uintptr(unsafe.Pointer(&count)), uintptr(unsafe.Pointer(&infos[0])))
		if errors.Is(err, ErrTooSmall) {
			infos = make([]processInfo, int(count)+16)
			continue
		}
		if err != nil {
			return err
		}
		for _, info := range infos[:min(int(count), len(infos))] {
			to.Processes = append(to.Processes, Process{PID: int(info.PID), Bytes: int64(info.Bytes)})
		}
		return nil
	}
	return fmt.Errorf("listing the processes of a GPU: their number grew %d times in a row", attempts)
}

// Bits of nvmlClocksEventReason.
const (
	slowHardware   = 0x08
	slowThermal    = 0x40
	slowPowerBrake = 0x80
)

func (l *Library) askSlowdown(handle uintptr, to *Health) error {
	var reasons uint64
	err := call(l.fns.slowdown, handle, uintptr(unsafe.Pointer(&reasons)))
	if err == nil {
		power := reasons&slowPowerBrake != 0
		to.Slowdown = &Slowdown{Power: power, Thermal: reasons&slowThermal != 0 || reasons&slowHardware != 0 && !power}
	}
	return err
}

// fabricInfo is nvmlGpuFabricInfo_v3_t, 40 bytes; version 2 is the same without
// its last field.
type fabricInfo struct {
	Version    uint32
	Cluster    [16]byte
	Status     Return
	Clique     uint32
	State      FabricState
	_          [3]byte
	HealthMask uint32
	Summary    uint8
	_          [3]byte
}

// Pairs of bits of the health mask, in which 1 is true.
const (
	healthDegradedBandwidth = 0
	healthUnhealthyRoute    = 4
)

func (l *Library) askFabric(handle uintptr, to *Health) error {
	var err error
	for _, version := range []uint32{0x03000028, 0x02000024} {
		f := fabricInfo{Version: version}
		err = call(l.fns.fabric, handle, uintptr(unsafe.Pointer(&f)))
		if errors.Is(err, ErrVersion) || errors.Is(err, ErrInvalidArgument) {
			continue
		}
		if err == nil && f.State != FabricNotSupported {
			to.Fabric = &Fabric{
				State: f.State, Status: f.Status, Cluster: fmt.Sprintf("%x", f.Cluster), Clique: f.Clique,
				DegradedBandwidth: f.HealthMask>>healthDegradedBandwidth&3 == 1,
				UnhealthyRoute:    f.HealthMask>>healthUnhealthyRoute&3 == 1,
			}
		}
		return err
	}
	return err
}
