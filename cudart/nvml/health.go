package nvml

import (
	"errors"
	"fmt"

	"gpurun/cudart/dl"
)

// Health is the state of one GPU. What a GPU does not have, or the driver is too
// old to tell, is nil.
type Health struct {
	Memory    *MemoryUse    `json:"memory,omitempty"`
	MIG       *Mode         `json:"mig,omitempty"`
	ECC       *ECC          `json:"ecc,omitempty"`
	Remapped  *RemappedRows `json:"remapped_rows,omitempty"`
	Processes []Process     `json:"processes,omitempty"`
	Slowdown  *Slowdown     `json:"slowdown,omitempty"`
	Fabric    *Fabric       `json:"fabric,omitempty"`
}

// MemoryUse is the memory of a GPU, in bytes.
type MemoryUse struct {
	Total    int64 `json:"total"`
	Reserved int64 `json:"reserved"` // by the driver and the firmware; 0 where it is not told
	Used     int64 `json:"used"`     // by programs; with what is reserved where that is not told
}

// Mode is a switch, now and after the next reset.
type Mode struct {
	On      bool `json:"on"`
	Pending bool `json:"pending"`
}

// ECC is error correction and what it has found since the driver was loaded.
type ECC struct {
	Mode
	Corrected   uint64 `json:"corrected"`
	Uncorrected uint64 `json:"uncorrected"`
}

// RemappedRows are rows of memory that were replaced.
type RemappedRows struct {
	Correctable   int  `json:"correctable"`   // because of corrected errors
	Uncorrectable int  `json:"uncorrectable"` // because of others
	Pending       bool `json:"pending"`       // more will be with the next reset
	Failed        bool `json:"failed"`        // a row could not be
}

// Process is a program that computes on a GPU.
type Process struct {
	PID   int   `json:"pid"`   // as the namespace of this process knows it
	Bytes int64 `json:"bytes"` // of the GPU's memory; -1 where it is not told
}

// Slowdown says whether the hardware itself holds the clocks back.
type Slowdown struct {
	Thermal bool `json:"thermal"`
	Power   bool `json:"power"` // the supply asks for it, by the power brake
}

// FabricState is how far a GPU has got on its way into the NVLink fabric.
type FabricState uint8

// The states of nvmlGpuFabricState_t.
const (
	FabricNotSupported FabricState = 0
	FabricNotStarted   FabricState = 1
	FabricInProgress   FabricState = 2
	FabricCompleted    FabricState = 3
)

// Fabric is a GPU's membership of an NVLink fabric with switches.
type Fabric struct {
	State   FabricState `json:"state"`
	Status  Return      `json:"status"` // how it went, once it is completed
	Cluster string      `json:"cluster"`
	Clique  uint32      `json:"clique"`
	// DegradedBandwidth and UnhealthyRoute are what the health mask says for
	// certain.
	DegradedBandwidth bool `json:"degraded_bandwidth"`
	UnhealthyRoute    bool `json:"unhealthy_route"`
}

// Health asks for the state of a GPU by its index. Only what would be an error
// of every question is one.
func (l *Library) Health(index int) (Health, error) {
	device, err := l.handle(index)
	if err != nil {
		return Health{}, fmt.Errorf("asking NVML about GPU %d: %w", index, err)
	}
	var h Health
	var failures []error
	for _, ask := range []func(handle uintptr, to *Health) error{
		l.askMemory, l.askMIG, l.askECC, l.askRemapped, l.askProcesses, l.askSlowdown, l.askFabric,
	} {
		if err := ask(device, &h); err != nil && !unknowable(err) {
			failures = append(failures, err)
		}
	}
	if len(failures) > 0 {
		return h, fmt.Errorf("asking NVML about the health of GPU %d: %w", index, errors.Join(failures...))
	}
	return h, nil
}

// unknowable reports whether an answer cannot be had from this GPU, this driver,
// or by this user, which is no error.
func unknowable(err error) bool {
	return errors.Is(err, ErrNotSupported) || errors.Is(err, ErrNoFunction) ||
		errors.Is(err, ErrNoPermission) || errors.Is(err, ErrVersion)
}

// call calls a function that the driver may be too old to have. As with
// [dl.Func.Call], what the arguments point to stays in place until it returns.
//
//go:uintptrescapes
func call(f dl.Func, args ...uintptr) error {
	if !f.Found() {
		return ErrNoFunction
	}
	return check(f, f.Call(args...))
}
