package check

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/schedule"
)

// device is the device of a rank. Its owner is the host code of that rank.
type device struct {
	run     *run
	rank    *Rank
	info    cudart.Info
	streams []*stream
	fault   error // the first fault of a kernel, which every later call reports
}

// failure is a *cudart.Error with a formatted detail.
func failure(op string, code cudart.Result, format string, args ...any) error {
	return &cudart.Error{Op: op, Code: code, Detail: fmt.Sprintf(format, args...)}
}

func (d *device) Info() cudart.Info { return d.info }

func (d *device) Malloc(bytes int64) (cudart.DevicePtr, error) {
	if d.fault != nil {
		return 0, d.fault
	}
	r, err := d.run.memory.allocate(d.rank.Number, bytes)
	if err != nil {
		return 0, fmt.Errorf("allocating device memory: %w", err)
	}
	return cudart.DevicePtr(r.base), nil
}

// Free waits for all work on the device.
func (d *device) Free(ptr cudart.DevicePtr) error {
	if ptr == 0 {
		return nil
	}
	r := d.run.memory.find(uint64(ptr))
	if r == nil || r.base != uint64(ptr) || r.host || r.malloc != nil {
		return failure("freeing device memory", cudart.ErrInvalidValue, "no allocation starts at %#x; it may have been freed",
			uint64(ptr))
	}
	return d.free(r)
}

func (d *device) free(r *region) error {
	if err := d.drain(); err != nil {
		return err
	}
	d.run.end(r, d.rank.host.thread, freeing, freeing)
	return nil
}

// drain waits for all work on the device.
func (d *device) drain() error {
	for _, s := range d.streams {
		if err := s.drain(); err != nil {
			return err
		}
	}
	return nil
}

func (d *device) MallocHost(bytes int64) (cudart.HostBuffer, error) {
	if d.fault != nil {
		return nil, d.fault
	}
	r, err := d.run.memory.allocate(d.rank.Number, bytes)
	if err != nil {
		return nil, fmt.Errorf("allocating host memory: %w", err)
	}
	r.host, r.written = true, true
	return &hostBuffer{device: d, region: r}, nil
}

// hostBuffer is host memory. What host code does to it is not observed.
type hostBuffer struct {
	device *device
	region *region
	freed  bool
}

func (h *hostBuffer) Bytes() []byte { return h.region.data[:h.region.size] }

func (h *hostBuffer) DevicePtr() cudart.DevicePtr { return cudart.DevicePtr(h.region.base) }

func (h *hostBuffer) Free() error {
	if h.freed {
		return failure("freeing host memory", cudart.ErrInvalidValue, "it was freed before")
	}
	h.freed = true
	return h.device.free(h.region)
}

func (d *device) NewStream(...cudart.StreamOption) (cudart.Stream, error) {
	if d.fault != nil {
		return nil, d.fault
	}
	return d.newStream(), nil
}

func (d *device) newStream() *stream {
	s := &stream{device: d, number: len(d.streams)}
	name := Actor{Rank: d.rank.Number, Command: fmt.Sprintf("stream %d", s.number)}
	s.thread = d.run.detector.NewThread(name, hostPlace(d.rank.Number), nil)
	d.streams = append(d.streams, s)
	d.run.streams = append(d.run.streams, s)
	d.run.addActor(&actor{id: schedule.Actor{Rank: d.rank.Number, Stream: s.number + 1}, stream: s})
	return s
}

func (d *device) NewEvent() (cudart.Event, error) { return &event{}, nil }

// Close waits for all work.
func (d *device) Close() error { return d.drain() }
