package worker

import (
	"context"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/probe"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// pairCheck is one rank's part in the check of all pairs.
type pairCheck struct {
	*rank
	prober *probe.Prober
	found  pairFindings
}

// pairFindings are what one rank found out.
type pairFindings struct {
	Sent     []result.Pair     `json:"sent"`     // by peer; without what the peer found
	Received []result.Compared `json:"received"` // by peer
}

// runPairs checks every ordered pair, one at a time unless the job says otherwise, so
// that each has the machine to itself; and then the bandwidth of as many at a time as there are ranks.
func (r *rank) runPairs(ctx context.Context) error {
	if r.caps.NoPeerAccess != "" {
		if r.Rank != 0 {
			return nil
		}
		return r.Reports.Result(result.Update{Apart: r.caps.NoPeerAccess})
	}
	c, err := r.newPairCheck(ctx)
	if err != nil {
		return fmt.Errorf("preparing the check of pairs: %w", err)
	}
	turns := r.pairTurns()
	for i, t := range turns {
		if err := r.Reports.Progress(i, len(turns)); err != nil {
			return err
		}
		if err := c.check(ctx, t); err != nil {
			return err
		}
	}
	for distance := 1; distance < r.WorldSize; distance++ {
		if err := c.load(ctx, distance); err != nil {
			return err
		}
	}
	return c.share(ctx)
}

func (r *rank) newPairCheck(ctx context.Context) (*pairCheck, error) {
	l := r.layout.Pairs
	prober, err := probe.New(r.comm, r.stream, r.comm.Local(l.Report), r.caps.LeastSMs())
	if err != nil {
		return nil, err
	}
	c := &pairCheck{rank: r, prober: prober, found: pairFindings{
		Sent: make([]result.Pair, r.WorldSize), Received: make([]result.Compared, r.WorldSize),
	}}
	return c, c.do(ctx, func() error { return prober.Ring(r.comm.Local(l.Ring), l.Lines) })
}

// check has ranks write to others, and both compare. Who has no part in the turn waits.
func (c *pairCheck) check(ctx context.Context, t pairTurn) error {
	if err := c.phase("checking %s", t.name); err != nil {
		return err
	}
	if err := c.meet(ctx, "pair"); err != nil {
		return err
	}
	if t.to != nobody {
		if err := c.send(ctx, t.to); err != nil {
			return err
		}
	}
	if err := c.meet(ctx, "sent"); err != nil {
		return err
	}
	if t.from != nobody {
		if err := c.receive(ctx, t.from); err != nil {
			return err
		}
	}
	return c.injectAfterFirst()
}

// send writes a pattern to a peer's memory, compares it through the link, and
// measures the link.
func (c *pairCheck) send(ctx context.Context, to int) (err error) {
	l, pair := c.layout.Pairs, &c.found.Sent[to]
	pair.From, pair.To = c.Rank, to
	key, data, ring := probe.Key(c.Job.Seed, c.Rank, to), c.comm.Peer(to, l.Data), c.comm.Peer(to, l.Ring)
	if err := c.do(ctx, func() error { return c.prober.Write(data, l.Bytes, key) }); err != nil {
		return err
	}
	if pair.ReadBack, err = c.compare(ctx, data, key); err != nil {
		return err
	}
	if pair.CopyGBs, err = c.bandwidth(ctx, to, c.Job.Iterations); err != nil {
		return err
	}
	if err := c.do(ctx, func() error { return c.prober.Walk(ring, l.Lines) }); err != nil {
		return err
	}
	walk, err := c.prober.Read()
	if err == nil && walk.Wrong > 0 && pair.ReadBack.Wrong == 0 { // else the link is known to be wrong
		err = fmt.Errorf("a walk through the memory of rank %d did not come back: its memory was overwritten, or reads of it are wrong", to)
	}
	pair.LatencyNS = float64(walk.Nanoseconds) / float64(l.Lines)
	return err
}

// receive compares what a peer has written to this rank's own memory.
func (c *pairCheck) receive(ctx context.Context, from int) (err error) {
	corrupted, err := c.corruptPair()
	if err != nil {
		return err
	}
	c.found.Received[from], err = c.compare(ctx, c.comm.Local(c.layout.Pairs.Data), probe.Key(c.Job.Seed, from, c.Rank))
	if err == nil && corrupted && c.found.Received[from].Wrong == 0 {
		return errCorruptionMissed
	}
	return err
}

func (c *pairCheck) compare(ctx context.Context, data cudart.DevicePtr, key uint64) (result.Compared, error) {
	bytes := c.layout.Pairs.Bytes
	if err := c.do(ctx, func() error { return c.prober.Check(data, bytes, key) }); err != nil {
		return result.Compared{}, err
	}
	report, err := c.prober.Read()
	found := result.Compared{Words: bytes / probe.WordBytes, Wrong: int64(report.Wrong), First: -1}
	if found.Wrong > 0 {
		found.First = int64(report.First)
	}
	return found, err
}

// load has every rank copy to the one at a distance, all at the same time.
func (c *pairCheck) load(ctx context.Context, distance int) (err error) {
	if err := c.phase("copying from every rank at once, by a distance of %d", distance); err != nil {
		return err
	}
	if err := c.meet(ctx, "load"); err != nil {
		return err
	}
	to := (c.Rank + distance) % c.WorldSize
	c.found.Sent[to].LoadedGBs, err = c.bandwidth(ctx, to, loadedCopies*c.Job.Iterations)
	return err
}

// loadedCopies times as many copies keep the links busy for much longer than it
// takes from the first rank to set out until the last one does.
const loadedCopies = 8

// bandwidth times so many copies to a peer, after one that is not timed, and
// returns the median in GB/s.
func (c *pairCheck) bandwidth(ctx context.Context, to, copies int) (float64, error) {
	l := c.layout.Pairs
	stamps, err := newStamps(c.device, copies+1)
	if err != nil {
		return 0, err
	}
	defer stamps.close()
	err = c.do(ctx, func() error {
		for _, stamp := range stamps {
			if err := c.stream.Copy(c.comm.Peer(to, l.Landing), c.comm.Local(l.Data), l.Bytes); err != nil {
				return err
			}
			if err := c.stream.Record(stamp); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	samples, err := stamps.intervals(1)
	if err != nil {
		return 0, err
	}
	micros := distribution(samples).P50
	if micros <= 0 {
		return 0, fmt.Errorf("timing copies of %d bytes to rank %d: the device's clock stands still", l.Bytes, to)
	}
	return float64(l.Bytes) / micros / 1e3, nil
}

// do enqueues work and waits for it.
func (c *pairCheck) do(ctx context.Context, enqueue func() error) error {
	if err := enqueue(); err != nil {
		return err
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	return c.synchronize(ctx)
}

// share brings together what all ranks found out. Rank 0 passes it on, in a report
// for each rank, which has a bounded length.
func (c *pairCheck) share(ctx context.Context) error {
	if err := c.phase("gathering what was found out about the links"); err != nil {
		return err
	}
	ctx, cancel := c.within(ctx)
	defer cancel()
	all, err := gather(ctx, c.group, "pairs", c.found)
	if err != nil || c.Rank != 0 {
		return err
	}
	for from, found := range all {
		var pairs []result.Pair
		for to, pair := range found.Sent {
			if to != from {
				pair.Written = all[to].Received[from]
				pairs = append(pairs, pair)
			}
		}
		if err := c.Reports.Result(result.Update{Pairs: pairs}); err != nil {
			return err
		}
	}
	return nil
}

// corruptPair flips a bit of what a peer has written to this rank's memory, if
// that is to be injected, and reports whether it did.
func (c *pairCheck) corruptPair() (done bool, err error) {
	in, ok := c.takeInjection(func(in workload.Injection) bool { return in.Kind == workload.Corrupt })
	if !ok {
		return false, nil
	}
	at := c.comm.Local(c.layout.Pairs.Data) + cudart.DevicePtr(in.Byte)
	var b [1]byte
	if err := c.stream.Download(b[:], at); err != nil {
		return false, fmt.Errorf("injecting corruption: %w", err)
	}
	b[0] ^= 1
	if err := c.stream.Upload(at, b[:]); err != nil {
		return false, fmt.Errorf("injecting corruption: %w", err)
	}
	return true, nil
}
