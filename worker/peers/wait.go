package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"gpurun/cudart/symm"
	"gpurun/rendezvous"
	"gpurun/rendezvous/fdpass"
	"gpurun/worker/status"
)

// Rank is this rank's number among WorldSize ranks.
func (p *Peers) Rank() int { return p.options.Rank }

// WorldSize is the number of ranks, this one included.
func (p *Peers) WorldSize() int { return p.options.WorldSize }

// Limit bounds a wait for peers that do the same as this rank.
func (p *Peers) Limit() time.Duration { return p.options.Timeout + slack }

// Within bounds what waits for peers by Limit.
func (p *Peers) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	return p.withTimeout(ctx, p.Limit())
}

// withTimeout does not count the time in which the job is stopped.
func (p *Peers) withTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if p.group == nil {
		return context.WithTimeout(ctx, d)
	}
	return p.group.WithTimeout(ctx, d)
}

// Meet waits until all ranks have called Meet with the same name.
func (p *Peers) Meet(ctx context.Context, name string) error { return p.MeetAfter(ctx, name, 0) }

// MeetAfter is Meet with peers that may be busy for so much longer than this rank.
func (p *Peers) MeetAfter(ctx context.Context, name string, busy time.Duration) error {
	ctx, cancel := p.withTimeout(ctx, p.Limit()+busy)
	defer cancel()
	return p.exchange().Barrier(ctx, name)
}

// Gather returns what every rank passed, by rank. Values travel as JSON.
func Gather[T any](ctx context.Context, p *Peers, name string, mine T) ([]T, error) {
	return GatherAfter(ctx, p, name, 0, mine)
}

// GatherAfter is Gather from peers that may be busy for so much longer than this rank.
func GatherAfter[T any](ctx context.Context, p *Peers, name string, busy time.Duration, mine T) ([]T, error) {
	ctx, cancel := p.withTimeout(ctx, p.Limit()+busy)
	defer cancel()
	data, err := json.Marshal(mine)
	if err != nil {
		return nil, fmt.Errorf("gathering %s: %w", name, err)
	}
	all, err := p.exchange().AllGather(ctx, name, data)
	if err != nil {
		return nil, fmt.Errorf("gathering %s: %w", name, err)
	}
	values := make([]T, len(all))
	for rank, data := range all {
		if err := json.Unmarshal(data, &values[rank]); err != nil {
			return nil, fmt.Errorf("gathering %s: reading what rank %d sent: %w", name, rank, err)
		}
	}
	return values, nil
}

// Exchange is how symmetric memory reaches the peers. Its waits are bounded by their
// contexts alone.
func (p *Peers) Exchange() symm.Exchange { return p.exchange() }

func (p *Peers) exchange() exchange { return exchange{p.group, p.files, p.options.Steps} }

// exchange tells of its waits.
type exchange struct {
	*rendezvous.Group
	files *fdpass.Peer
	steps *status.Steps
}

// Barrier waits until all ranks have called it with the same name.
func (e exchange) Barrier(ctx context.Context, name string) error {
	defer e.steps.Enter(fmt.Sprintf("waiting for all ranks at barrier %q", name))()
	return e.Group.Barrier(ctx, name)
}

// AllGather sends mine to all ranks and returns theirs.
func (e exchange) AllGather(ctx context.Context, name string, mine []byte) ([][]byte, error) {
	defer e.steps.Enter(fmt.Sprintf("waiting for what all ranks send for %q", name))()
	return e.Group.AllGather(ctx, name, mine)
}

// AllGatherFiles sends the own file to every local peer and returns theirs.
func (e exchange) AllGatherFiles(ctx context.Context, name string, mine *os.File) ([]*os.File, error) {
	defer e.steps.Enter(fmt.Sprintf("waiting for the files of all ranks of this machine for %q", name))()
	return e.files.AllGather(ctx, name, mine)
}
