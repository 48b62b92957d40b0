package links

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"gpurun/cudart"
	"gpurun/worker/rank"
	"gpurun/worker/workload"
)

// concurrentCopies have a stream for each peer, and events on each of the streams: copies to
// all peers are under way at the same time.
type concurrentCopies struct {
	streams    []cudart.Stream // by distance to the peer, from 1 on
	begin, end rank.Events
	bytes      int64 // of a copy
	stride     int64 // from the place of one copy at a peer to the next
}

// newConcurrentCopies makes the streams. The caller closes them, also after an error.
func (c ceiling) newConcurrentCopies() (*concurrentCopies, error) {
	peers := c.World - 1
	x := &concurrentCopies{bytes: workload.ConcurrentCopyBytes(c.bytes, peers)}
	x.stride = workload.RoundUp(x.bytes)
	for range peers {
		s, err := c.Device.NewStream()
		if err != nil {
			return x, fmt.Errorf("creating a stream: %w", err)
		}
		x.streams = append(x.streams, s)
	}
	var err error
	if x.begin, err = c.NewEvents(peers); err != nil {
		return x, err
	}
	x.end, err = c.NewEvents(peers)
	return x, err
}

// close frees what is freed with the device at the latest.
func (x *concurrentCopies) close() {
	for _, s := range x.streams {
		_ = s.Close()
	}
	x.begin.Close()
	x.end.Close()
}

// rateConcurrent is the median rate of this rank's copies to all peers together, in GB/s.
func (c ceiling) rateConcurrent(ctx context.Context) (float64, error) {
	x, err := c.newConcurrentCopies()
	defer x.close()
	if err != nil {
		return 0, err
	}
	var rates []float64
	for range repetitions {
		took, err := c.timeConcurrent(ctx, x)
		if err != nil {
			return 0, fmt.Errorf("copying to all peers at once: %w", err)
		}
		if ns := took.Nanoseconds(); ns > 0 { // bytes per ns are GB/s
			rates = append(rates, float64(int64(len(x.streams))*copiesPerPeer*x.bytes)/float64(ns))
		}
	}
	return medianRate(rates), nil
}

// timeConcurrent copies to all peers, while all ranks do, and times that from when the first
// stream begins until the last one ends. The copies before the first events are not timed:
// they keep the links busy until all ranks have started.
func (c ceiling) timeConcurrent(ctx context.Context, x *concurrentCopies) (time.Duration, error) {
	if err := c.Peers.Meet(ctx, "concurrent copies"); err != nil {
		return 0, err
	}
	for _, events := range []rank.Events{x.begin, x.end} {
		if err := c.copyToAll(x); err != nil {
			return 0, err
		}
		for i, stream := range x.streams {
			if err := stream.Record(events[i]); err != nil {
				return 0, err
			}
		}
	}
	waiting, cancel := c.Peers.Within(ctx)
	defer cancel()
	for _, stream := range x.streams {
		if err := stream.Synchronize(waiting); err != nil {
			return 0, cmp.Or(context.Cause(waiting), err)
		}
	}
	return x.took()
}

// copyToAll enqueues the copies that are timed together, one on every stream in
// turn. What a peer gets from different ranks goes to different places.
func (c ceiling) copyToAll(x *concurrentCopies) error {
	for range copiesPerPeer {
		for i, stream := range x.streams {
			peer := (c.ID + i + 1) % c.World
			to := c.Comm.Peer(peer, c.to+int64(i)*x.stride)
			if err := stream.Copy(to, c.Comm.Local(c.from), x.bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// took is the time from the first begin to the last end.
func (x *concurrentCopies) took() (time.Duration, error) {
	var begin, end time.Duration // since the first stream began
	for i := range x.streams {
		b, err := x.begin[i].Since(x.begin[0])
		if err != nil {
			return 0, fmt.Errorf("reading an event: %w", err)
		}
		e, err := x.end[i].Since(x.begin[0])
		if err != nil {
			return 0, fmt.Errorf("reading an event: %w", err)
		}
		begin, end = min(begin, b), max(end, e)
	}
	return end - begin, nil
}
