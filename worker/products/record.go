package products

import (
	"cmp"
	"context"
	"fmt"

	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/worker/measure"
	"gpurun/worker/result"
	"gpurun/worker/result/trace"
)

// record makes one more call, and reports when its parts ran on this rank.
func (p *run) record(ctx context.Context, c *candidate) error {
	if err := p.Status.Announce("recording %s", c); err != nil {
		return err
	}
	if err := p.meet(ctx, "recording", c); err != nil {
		return err
	}
	if c.Algorithm.RecordSteps != nil {
		return measure.Steps(ctx, p.Rank, workOf(c), func() error { return p.enqueue(c) },
			func(to *collective.StepRecorder) error { return c.Algorithm.RecordSteps(p.runner, c.call, to) })
	}
	waiting, cancel := p.Peers.Within(ctx)
	defer cancel()
	recording, err := p.runner.Record(waiting, c.Algorithm, c.call)
	if err := cmp.Or(p.Comm.Err(), err); err != nil {
		return fmt.Errorf("recording %s: %w", c, err)
	}
	drawn := drawing(recording, c.Problem, p.World)
	if len(drawn.Tiles) == 0 {
		return fmt.Errorf("recording %s: the kernel noted no times of tiles", c)
	}
	drawn.Rank, drawn.Device = p.ID, p.Device.Info().Name
	return trace.Report(drawn, func(piece *trace.Rank) error { return p.Status.Result(result.Update{Timeline: piece}) })
}

// drawing is what a timeline shows of a recording. A tile is of the shard that its rows of
// the whole result are in.
func drawing(recording matmul.Recording, problem matmul.Problem, world int) trace.Rank {
	r := trace.Rank{Met: int64(recording.Start)}
	shardRows := (problem.M + int64(world) - 1) / int64(world)
	for i, t := range recording.Tiles {
		if t.End == 0 {
			continue
		}
		r.Tiles = append(r.Tiles, trace.Tile{
			Number: i, Block: int(t.Block), Row: int64(t.Row), Column: int64(t.Column), Shard: int(int64(t.Row) / shardRows),
			Slices: int(t.Slices),
			Wait:   int64(t.Wait), Begin: int64(t.Begin), End: int64(t.End),
		})
	}
	for _, c := range recording.Copies {
		r.Copies = append(r.Copies, trace.Copy{
			Shard: c.Shard, From: c.From, Chunk: c.Chunk, Bytes: c.Bytes, Begin: int64(c.Begin), End: int64(c.End),
		})
	}
	return r
}
