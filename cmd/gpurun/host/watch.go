package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"gpurun/cudart/driver"
	"gpurun/cudart/nvml"
	"gpurun/worker/process/xid"
)

// Watch notices that a GPU of this machine fails while a job runs. NVML tells of lost GPUs and of errors; the kernel's
// log tells of errors, too, where this user may read it. Only GPUs that CUDA_VISIBLE_DEVICES shows count.
type Watch struct {
	begun   chan struct{} // closed when the GPUs are known
	library *nvml.Library // nil: this machine has no NVML
	devices []nvml.Device // those that count
	count   int           // of all GPUs that this process may see
	events  *nvml.XidEvents
	log     *xid.Log

	mu     sync.Mutex
	failed error // what was found once
}

// WatchGPUs begins to watch. It does not wait for the driver, which can take a second to start.
func WatchGPUs(libraries ...string) *Watch {
	w := &Watch{begun: make(chan struct{})}
	go func() {
		defer close(w.begun)
		w.begin(libraries)
	}()
	return w
}

// begin opens what can be opened: neither events nor the kernel's log are there on all machines.
func (w *Watch) begin(libraries []string) {
	library, err := nvml.Open(libraries...)
	if err != nil {
		return
	}
	w.log, _ = xid.OpenLog(true)
	devices, err := library.Devices()
	if err != nil {
		return // a GPU that is lost before the job is for --health-check to find
	}
	var uuids []string
	for _, d := range devices {
		uuids = append(uuids, d.UUID)
	}
	w.count, w.devices = len(devices), devices
	if value, set := os.LookupEnv("CUDA_VISIBLE_DEVICES"); set && !driver.NamesMIG(value) {
		chosen, _ := driver.Visible(value, uuids)
		w.devices = slices.DeleteFunc(devices, func(d nvml.Device) bool { return !slices.Contains(chosen, d.Index) })
	}
	var indexes []int
	for _, d := range w.devices {
		indexes = append(indexes, d.Index)
	}
	w.events, _ = library.WatchXids(indexes)
	w.library = library
}

// faultBound is how long the driver may take to answer. It can hang while a GPU is lost.
const faultBound = 2 * time.Second

// Fault says how a GPU has failed since the watch began; it is nil if none has, as far as is known in time.
func (w *Watch) Fault() error {
	ctx, cancel := context.WithTimeout(context.Background(), faultBound)
	defer cancel()
	answer := make(chan error, 1)
	go func() {
		select {
		case <-w.begun:
		case <-ctx.Done():
			return
		}
		if w.library != nil {
			answer <- w.look()
		} else {
			answer <- nil
		}
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return nil
	}
}

// look returns what it has found once.
func (w *Watch) look() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = w.find()
	}
	return w.failed
}

// find looks for errors first: they say more than that a GPU is lost.
func (w *Watch) find() error {
	for _, e := range append(w.reported(), w.logged()...) {
		if meaning, ok := xid.HardwareFault(e.xid); ok {
			return fmt.Errorf("GPU %d (%s) reported Xid %d: %s", e.device.Index, e.device.PCIBusID, e.xid, meaning)
		}
	}
	count, err := w.library.Count()
	if err == nil && count < w.count && len(w.devices) == w.count { // else the GPU may be one that does not count
		return fmt.Errorf("the driver shows %d of the %d GPUs that were there when the job began", count, w.count)
	}
	for _, d := range w.devices {
		if err := w.library.Lost(d.Index); err != nil {
			return err
		}
	}
	return nil
}

// gpuError is an error of a GPU.
type gpuError struct {
	device nvml.Device
	xid    uint64
}

// reported are the errors that NVML has noted since the last call.
func (w *Watch) reported() (all []gpuError) {
	for w.events != nil {
		index, code, ok, err := w.events.Next()
		if !ok || err != nil {
			return all
		}
		at := slices.IndexFunc(w.devices, func(d nvml.Device) bool { return d.Index == index })
		all = append(all, gpuError{w.devices[at], code})
	}
	return all
}

// logged are those of the kernel's log.
func (w *Watch) logged() (all []gpuError) {
	for _, e := range w.log.Next() {
		for _, d := range w.devices {
			if strings.TrimSuffix(strings.ToLower(d.PCIBusID), ".0") == e.PCI {
				all = append(all, gpuError{d, e.Code})
			}
		}
	}
	return all
}

// Close ends the watch. The driver may not answer: a process that ends does without.
func (w *Watch) Close() error {
	<-w.begun
	if w.library == nil {
		return w.log.Close()
	}
	var err error
	if w.events != nil {
		err = w.events.Close()
	}
	return errors.Join(err, w.log.Close(), w.library.Close())
}
