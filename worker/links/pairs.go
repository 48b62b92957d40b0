// Package links checks and measures the links between the ranks' devices: of every pair of
// ranks by itself, and of all ranks together, which is the ceiling of what collectives can
// reach.
package links

import (
	"context"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/probe"
	"gpurun/worker/measure"
	"gpurun/worker/peers"
	"gpurun/worker/rank"
	"gpurun/worker/result"
	"gpurun/worker/verify"
	"gpurun/worker/workload"
)

// CheckPairs checks every ordered pair of ranks: one at a time unless the job says otherwise,
// so that each has the machine to itself. It then measures the bandwidth with as many pairs
// at a time as there are ranks. Rank 0 reports what all ranks found.
func CheckPairs(ctx context.Context, r *rank.Rank, job workload.Job, caps workload.Capabilities,
	layout workload.PairLayout,
) error {
	if caps.NoPeerAccess != "" {
		if r.ID != 0 {
			return nil
		}
		return r.Status.Result(result.Update{NoPeerAccess: caps.NoPeerAccess})
	}
	c, err := newPairCheck(ctx, r, job, caps, layout)
	if err != nil {
		return fmt.Errorf("preparing the check of pairs: %w", err)
	}
	turns := pairTurns(r.ID, r.World, job.PairsTogether)
	for i, t := range turns {
		if err := r.Status.Progress(i, len(turns)); err != nil {
			return err
		}
		if err := c.check(ctx, t); err != nil {
			return err
		}
	}
	for distance := 1; distance < r.World; distance++ {
		if err := c.load(ctx, distance); err != nil {
			return err
		}
	}
	return c.share(ctx)
}

// pairCheck is one rank's part in the check of all pairs.
type pairCheck struct {
	*rank.Rank
	job    workload.Job
	layout workload.PairLayout
	prober *probe.Prober
	faults *verify.Faults
	found  pairFindings
}

// pairFindings are what one rank found out.
type pairFindings struct {
	Sent     []result.Pair     `json:"sent"`     // by peer; without what the peer found
	Received []result.Compared `json:"received"` // by peer
}

func newPairCheck(ctx context.Context, r *rank.Rank, job workload.Job, caps workload.Capabilities,
	l workload.PairLayout,
) (*pairCheck, error) {
	prober, err := probe.New(r.Comm, r.Stream, r.Comm.Local(l.Report), caps.LeastSMs())
	if err != nil {
		return nil, err
	}
	c := &pairCheck{
		Rank: r, job: job, layout: l, prober: prober, faults: verify.NewFaults(job.Inject, r.ID),
		found: pairFindings{
			Sent: make([]result.Pair, r.World), Received: make([]result.Compared, r.World),
		},
	}
	return c, c.do(ctx, func() error { return prober.Ring(r.Comm.Local(l.Ring), l.Lines) })
}

// check has ranks write to others, and both compare. A rank that has no part in the turn
// waits.
func (c *pairCheck) check(ctx context.Context, t turn) error {
	if err := c.Status.Announce("checking %s", t.name); err != nil {
		return err
	}
	if err := c.Peers.Meet(ctx, "pair"); err != nil {
		return err
	}
	if t.to != nobody {
		if err := c.send(ctx, t.to); err != nil {
			return err
		}
	}
	if err := c.Peers.Meet(ctx, "sent"); err != nil {
		return err
	}
	if t.from != nobody {
		if err := c.receive(ctx, t.from); err != nil {
			return err
		}
	}
	return c.faults.AfterFirstCall()
}

// send writes a pattern to a peer's memory, compares it through the link, and
// measures the link.
func (c *pairCheck) send(ctx context.Context, to int) (err error) {
	l, pair := c.layout, &c.found.Sent[to]
	pair.From, pair.To = c.ID, to
	key, data, ring := probe.Key(c.job.Seed, c.ID, to), c.Comm.Peer(to, l.Data), c.Comm.Peer(to, l.Ring)
	if err := c.do(ctx, func() error { return c.prober.Write(data, l.Bytes, key) }); err != nil {
		return err
	}
	if pair.ReadBack, err = c.compare(ctx, data, key); err != nil {
		return err
	}
	if pair.CopyGBs, err = c.bandwidth(ctx, to, c.job.Iterations); err != nil {
		return err
	}
	if err := c.do(ctx, func() error { return c.prober.Walk(ring, l.Lines) }); err != nil {
		return err
	}
	walk, err := c.prober.Read()
	if err == nil && walk.Wrong > 0 && pair.ReadBack.Wrong == 0 { // otherwise ReadBack already shows the error
		err = fmt.Errorf("a walk through the memory of rank %d did not come back: its memory was overwritten, "+
			"or reads of it are wrong", to)
	}
	pair.LatencyNS = float64(walk.Nanoseconds) / float64(l.Lines)
	return err
}

// receive compares what a peer has written to this rank's own memory.
func (c *pairCheck) receive(ctx context.Context, from int) (err error) {
	data := c.Comm.Local(c.layout.Data)
	offset, corrupt := c.faults.TakeCorruption(c.layout.Bytes)
	if corrupt {
		if err := verify.Corrupt(c.Stream, data+cudart.DevicePtr(offset), 1); err != nil {
			return err
		}
	}
	c.found.Received[from], err = c.compare(ctx, data, probe.Key(c.job.Seed, from, c.ID))
	if err == nil && corrupt && c.found.Received[from].Wrong == 0 {
		return verify.ErrCorruptionMissed
	}
	return err
}

func (c *pairCheck) compare(ctx context.Context, data cudart.DevicePtr, key uint64) (result.Compared, error) {
	bytes := c.layout.Bytes
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
	if err := c.Status.Announce("copying from every rank at once, by a distance of %d", distance); err != nil {
		return err
	}
	if err := c.Peers.Meet(ctx, "load"); err != nil {
		return err
	}
	to := (c.ID + distance) % c.World
	c.found.Sent[to].LoadedGBs, err = c.bandwidth(ctx, to, loadedCopies*c.job.Iterations)
	return err
}

// loadedCopies times as many copies keep the links busy for much longer than the ranks
// take to start, from the first to the last.
const loadedCopies = 8

// bandwidth times so many copies to a peer, after one that is not timed, and
// returns the median in GB/s.
func (c *pairCheck) bandwidth(ctx context.Context, to, copies int) (float64, error) {
	l := c.layout
	events, err := c.NewEvents(copies + 1)
	if err != nil {
		return 0, err
	}
	defer events.Close()
	err = c.do(ctx, func() error {
		for _, event := range events {
			if err := c.Stream.Copy(c.Comm.Peer(to, l.Landing), c.Comm.Local(l.Data), l.Bytes); err != nil {
				return err
			}
			if err := c.Stream.Record(event); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	samples, err := events.Intervals()
	if err != nil {
		return 0, err
	}
	micros := measure.Distribution(samples).P50
	if micros <= 0 {
		return 0, fmt.Errorf("timing copies of %d bytes to rank %d: the device's clock does not advance", l.Bytes, to)
	}
	return float64(l.Bytes) / micros / 1e3, nil
}

// do enqueues work and waits for it.
func (c *pairCheck) do(ctx context.Context, enqueue func() error) error {
	if err := enqueue(); err != nil {
		return err
	}
	ctx, cancel := c.Peers.Within(ctx)
	defer cancel()
	return c.Synchronize(ctx)
}

// share gathers what all ranks found. Rank 0 passes it on, in a report
// for each rank, which has a bounded length.
func (c *pairCheck) share(ctx context.Context) error {
	if err := c.Status.Announce("gathering what was found out about the links"); err != nil {
		return err
	}
	all, err := peers.Gather(ctx, c.Peers, "pairs", c.found)
	if err != nil || c.ID != 0 {
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
		if err := c.Status.Result(result.Update{Pairs: pairs}); err != nil {
			return err
		}
	}
	return nil
}
