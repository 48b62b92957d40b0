package checktask

import (
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// tokens prove a barrier. Each rank writes a new token to its memory, passes the barrier, and copies all ranks' tokens.
// A second barrier, by kernels that are checked by themselves, keeps the tokens until all have been copied.
type tokens struct {
	*rank
	sent, seen cudart.DevicePtr // tokens of this rank, and of all ranks, for each call
}

// input describes the tokens of a call.
func (t *tokens) input(call int) reference.Input {
	return reference.Input{
		Seed: t.Seed + uint64(call), Pattern: reference.Random, DType: collective.UInt64, World: t.World,
	}
}

func (t *tokens) prepare() (err error) {
	all := make([]byte, tokenBytes*t.total())
	for n := range t.total() {
		t.input(n).Fill(all[tokenBytes*n:][:tokenBytes], t.Number)
	}
	if t.sent, err = t.keep(int64(len(all)), "tokens of all calls"); err != nil {
		return err
	}
	if t.seen, err = t.keep(int64(len(all)*t.World), "copied tokens of all calls"); err != nil {
		return err
	}
	return t.stream.Upload(t.sent, all)
}

func (t *tokens) enqueue(number int) error {
	call := t.call(number)
	from := t.sent + cudart.DevicePtr(tokenBytes*number)
	if err := t.stream.Copy(t.comm.Local(call.Send), from, tokenBytes); err != nil {
		return fmt.Errorf("writing a token: %w", err)
	}
	if err := t.launch(number, call); err != nil {
		return err
	}
	for peer := range t.World {
		to := t.seen + cudart.DevicePtr(tokenBytes*(number*t.World+peer))
		if err := t.stream.Copy(to, t.comm.Peer(peer, call.Send), tokenBytes); err != nil {
			return fmt.Errorf("copying the token of rank %d: %w", peer, err)
		}
	}
	return barrier.Meet(t.comm, t.stream, collective.EndBarrier)
}

func (t *tokens) betweenReplays() error {
	half := int64(tokenBytes * t.enqueued())
	seen := half * int64(t.World)
	return errors.Join(t.stream.Copy(t.seen+cudart.DevicePtr(seen), t.seen, seen),
		t.stream.Copy(t.sent, t.sent+cudart.DevicePtr(half), half))
}

func (t *tokens) compare() error {
	got := make([]byte, tokenBytes*t.total()*t.World)
	if err := t.stream.Download(got, t.seen); err != nil {
		return fmt.Errorf("downloading the tokens: %w", err)
	}
	for n := range t.total() {
		var all reference.Verdict
		first := tokenBytes * t.place(n) * t.World
		for peer := range t.World {
			v := t.input(n).From(peer, got[first+tokenBytes*peer:][:tokenBytes])
			v.First = int64(peer)
			all = all.Merge(v)
		}
		t.note(n, output{"tokens", t.seen + cudart.DevicePtr(first), int64(t.World), tokenBytes}, all)
	}
	return nil
}
