package matmul

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"gpurun/cudart"
)

// Recording holds the times of the tiles and copies of one call on this rank, in nanoseconds of the device's clock.
type Recording struct {
	// Start is when this rank left the barrier before the call. It is the same moment on all ranks, within a few
	// microseconds; their clocks differ.
	Start uint64
	// Tiles are the records of the kernel, by number; End is 0 for a tile that it did not record.
	Tiles  []TileTimes
	Copies []CopyTimes
}

// TileTimes mirrors TileTimes of cuda/trace.cuh, where the fields are explained. A test
// compares the two layouts.
type TileTimes struct {
	Block  uint32
	Row    uint32
	Column uint32
	Slices uint32
	Wait   uint64
	Begin  uint64
	End    uint64
}

// tileTimesBytes is the size of a record.
const tileTimesBytes = int64(unsafe.Sizeof(TileTimes{}))

// CopyTimes is the begin and the end of the copy of a chunk from a rank: a chunk of that rank's shard of A, or of its
// products for this rank's shard. Events measure them, from the barrier on.
type CopyTimes struct {
	Shard, From, Chunk int
	Bytes              int64
	Begin, End         uint64
}

// recorder holds the memory and events of a recorded call. The memory begins with the stamp, in the space of one
// record; the records follow.
type recorder struct {
	device cudart.Device
	tiles  int64
	memory cudart.DevicePtr
	start  cudart.Event
	copies []timedCopy
}

type timedCopy struct {
	CopyTimes
	begin, end cudart.Event
}

func (c *recorder) bytes() int64 { return (1 + c.tiles) * tileTimesBytes }

// records is the address of the records of the tiles.
func (c *recorder) records() cudart.DevicePtr { return c.memory + cudart.DevicePtr(tileTimesBytes) }

func (c *recorder) open(s cudart.Stream) (err error) {
	if c.start, err = c.device.NewEvent(); err != nil {
		return err
	}
	if c.memory, err = c.device.Malloc(c.bytes()); err != nil {
		return err
	}
	return s.Fill(c.memory, 0, c.bytes())
}

// close frees everything. The work that was recorded must be done, or have failed.
func (c *recorder) close() error {
	var errs []error
	for _, t := range c.copies {
		errs = append(errs, t.begin.Close(), t.end.Close())
	}
	if c.start != nil {
		errs = append(errs, c.start.Close())
	}
	if c.memory != 0 {
		errs = append(errs, c.device.Free(c.memory))
	}
	return errors.Join(errs...)
}

// copy enqueues a copy between two events.
func (c *recorder) copy(s cudart.Stream, times CopyTimes, dst, src cudart.DevicePtr) error {
	begin, err := c.device.NewEvent()
	if err != nil {
		return err
	}
	end, err := c.device.NewEvent()
	if err != nil {
		return errors.Join(err, begin.Close())
	}
	c.copies = append(c.copies, timedCopy{times, begin, end})
	if err := s.Record(begin); err != nil {
		return err
	}
	if err := s.Copy(dst, src, times.Bytes); err != nil {
		return err
	}
	return s.Record(end)
}

// read downloads the records.
func (c *recorder) read(s cudart.Stream) (Recording, error) {
	all := make([]TileTimes, 1+c.tiles)
	if err := s.Download(unsafe.Slice((*byte)(unsafe.Pointer(&all[0])), c.bytes()), c.memory); err != nil {
		return Recording{}, fmt.Errorf("fetching the times of tiles: %w", err)
	}
	start := *(*uint64)(unsafe.Pointer(&all[0]))
	recording := Recording{Start: start, Tiles: all[1:]}
	for _, t := range c.copies {
		begin, err := t.begin.Since(c.start)
		if err != nil {
			return recording, fmt.Errorf("timing a copy: %w", err)
		}
		length, err := t.end.Since(t.begin)
		if err != nil {
			return recording, fmt.Errorf("timing a copy: %w", err)
		}
		t.Begin = start + uint64(max(begin, 0)/time.Nanosecond)
		t.End = t.Begin + uint64(length/time.Nanosecond)
		recording.Copies = append(recording.Copies, t.CopyTimes)
	}
	return recording, nil
}
