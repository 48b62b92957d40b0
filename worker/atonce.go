package worker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gpurun/cudart"
	"gpurun/worker/workload"
)

// fan is a stream for each peer, so that copies to all of them are under way at the
// same time, and stamps on each of the streams.
type fan struct {
	streams      []cudart.Stream // by distance to the peer, from 1 on
	begin, end   stamps
	bytes, apart int64 // of a copy, and from one place to land to the next
}

// newFan makes the streams. The caller closes it, also after an error.
func (r *rank) newFan() (*fan, error) {
	peers := r.WorldSize - 1
	f := &fan{bytes: workload.ConcurrentCopyBytes(r.Job.CeilingBytes, peers)}
	f.apart = workload.RoundUp(f.bytes)
	for range peers {
		s, err := r.device.NewStream()
		if err != nil {
			return f, fmt.Errorf("creating a stream: %w", err)
		}
		f.streams = append(f.streams, s)
	}
	var err error
	if f.begin, err = newStamps(r.device, peers); err != nil {
		return f, err
	}
	f.end, err = newStamps(r.device, peers)
	return f, err
}

// close frees what is freed with the device at the latest.
func (f *fan) close() {
	for _, s := range f.streams {
		_ = s.Close()
	}
	f.begin.close()
	f.end.close()
}

// rateAtOnce is the median rate of this rank's copies to all peers at once, in GB/s.
func (r *rank) rateAtOnce(ctx context.Context) (float64, error) {
	f, err := r.newFan()
	defer f.close()
	if err != nil {
		return 0, err
	}
	var rates []float64
	for range copyRepetitions {
		took, err := r.timeFan(ctx, f)
		if err != nil {
			return 0, fmt.Errorf("copying to all peers at once: %w", err)
		}
		if ns := took.Nanoseconds(); ns > 0 { // bytes per ns are GB/s
			rates = append(rates, float64(int64(len(f.streams))*copiesAtOnce*f.bytes)/float64(ns))
		}
	}
	return medianRate(rates), nil
}

// timeFan copies to all peers at once, while all ranks do, and times that from when the
// first stream begins until the last one ends. What is copied before that is not timed:
// it keeps the links busy until all ranks have set out.
func (r *rank) timeFan(ctx context.Context, f *fan) (time.Duration, error) {
	if err := r.meet(ctx, "fan"); err != nil {
		return 0, err
	}
	for _, s := range []stamps{f.begin, f.end} {
		if err := r.copyToAll(f); err != nil {
			return 0, err
		}
		for i, stream := range f.streams {
			if err := stream.Record(s[i]); err != nil {
				return 0, err
			}
		}
	}
	waiting, cancel := r.within(ctx)
	defer cancel()
	for _, stream := range f.streams {
		if err := stream.Synchronize(waiting); err != nil {
			return 0, cmp.Or(context.Cause(waiting), err)
		}
	}
	return f.took()
}

// copyToAll enqueues the copies that are timed together, a copy on every stream in
// turns. What a peer gets from different ranks lands in different places.
func (r *rank) copyToAll(f *fan) error {
	for range copiesAtOnce {
		for i, stream := range f.streams {
			peer := (r.Rank + i + 1) % r.WorldSize
			to := r.comm.Peer(peer, r.layout.CopyTo+int64(i)*f.apart)
			if err := stream.Copy(to, r.comm.Local(r.layout.CopyFrom), f.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// took is the time from the first begin to the last end.
func (f *fan) took() (time.Duration, error) {
	var begin, end time.Duration // since the first stream began
	for i := range f.streams {
		b, err := f.begin[i].Since(f.begin[0])
		if err != nil {
			return 0, fmt.Errorf("reading an event: %w", err)
		}
		e, err := f.end[i].Since(f.begin[0])
		if err != nil {
			return 0, fmt.Errorf("reading an event: %w", err)
		}
		begin, end = min(begin, b), max(end, e)
	}
	return end - begin, nil
}
