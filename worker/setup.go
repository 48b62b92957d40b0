package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/rendezvous"
	"gpurun/rendezvous/fdpass"
	"gpurun/worker/result"
)

// join meets the other ranks. The context that it returns ends, with the cause,
// when one of them departs.
func (r *rank) join(ctx context.Context) (context.Context, error) {
	if err := r.phase("joining the rendezvous"); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("looking up the host's name: %w", err)
	}
	r.files, err = fdpass.Open(r.Files, r.Rank, r.WorldSize)
	if err != nil {
		return nil, fmt.Errorf("opening the descriptor socket: %w", err)
	}
	r.onClose(r.files.Close)
	joining, cancel := r.within(ctx)
	defer cancel()
	member := rendezvous.Member{Rank: r.Rank, LocalRank: r.LocalRank, WorldSize: r.WorldSize, Host: host, PID: os.Getpid()}
	r.group, err = rendezvous.Join(joining, r.Target, member, rendezvous.Options{Token: r.Token, Logger: r.Logger})
	if err != nil {
		return nil, fmt.Errorf("joining the rendezvous: %w", err)
	}
	r.onClose(r.group.Close)
	return r.untilDeparture(ctx), nil
}

// untilDeparture ends with ctx or with the group, whichever is first.
func (r *rank) untilDeparture(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.group.Context(), func() { cancel(context.Cause(r.group.Context())) })
	r.onClose(func() error {
		stop()
		cancel(nil)
		return nil
	})
	return ctx
}

func (r *rank) openDevice() (err error) {
	if err := r.phase("opening device %d", r.Ordinal); err != nil {
		return err
	}
	if r.device, err = r.Backend.Open(r.Ordinal); err != nil {
		return fmt.Errorf("opening device %d: %w", r.Ordinal, err)
	}
	r.onClose(r.device.Close)
	if r.stream, err = r.device.NewStream(); err != nil {
		return fmt.Errorf("creating a stream: %w", err)
	}
	r.onClose(r.stream.Close)
	return nil
}

// meetDevices tells all ranks what device each has.
func (r *rank) meetDevices(ctx context.Context) error {
	ctx, cancel := r.within(ctx)
	defer cancel()
	infos, err := gather(ctx, r.group, "devices", r.device.Info())
	if err != nil {
		return err
	}
	r.minSMs = infos[0].SMs
	for rank, info := range infos {
		r.minSMs = min(r.minSMs, info.SMs)
		if err := r.sweep.runsOn(info); err != nil {
			return fmt.Errorf("device of rank %d: %w", rank, err)
		}
	}
	if r.Rank != 0 {
		return nil
	}
	return r.Reports.Result(result.Update{Processes: r.processes(), Devices: infos})
}

func (r *rank) processes() []result.Process {
	all := make([]result.Process, r.WorldSize)
	for rank, m := range r.group.Members() {
		all[rank] = result.Process{Host: m.Host, PID: m.PID}
	}
	return all
}

// shareMemory allocates the symmetric memory, maps the peers' and makes the
// communicator on it.
func (r *rank) shareMemory(ctx context.Context) (err error) {
	if err := r.phase("sharing memory with the peers"); err != nil {
		return err
	}
	waiting, cancel := r.within(ctx)
	defer cancel()
	r.layout = r.sweep.layout(r.WorldSize, r.minSMs)
	r.memory, err = symm.Allocate(waiting, r.device, exchange{r.group, r.files}, r.layout.total, symm.Options{})
	if err != nil {
		return fmt.Errorf("sharing %d bytes on each rank: %w", r.layout.total, err)
	}
	r.comm, err = collective.New(collective.Config{
		Device:        r.device,
		Source:        r.Source,
		Rank:          r.Rank,
		Peers:         r.memory.Peers,
		ScratchOffset: r.layout.scratch,
		PacketOffset:  r.layout.packets,
		PacketBytes:   collective.RoomForPackets(r.minSMs),
		SMs:           r.minSMs,
		Timeout:       r.Job.Timeout,
	})
	if err != nil {
		return fmt.Errorf("preparing the kernels: %w", err)
	}
	if err := r.group.Barrier(waiting, "ready"); err != nil {
		return fmt.Errorf("waiting for the peers to be ready: %w", err)
	}
	return nil
}

// leave gives everything back in step with the peers: no rank frees memory
// that another still maps. A rank that fails does not get here: it closes the
// device as it is, without waiting for the kernels.
func (r *rank) leave(ctx context.Context) error {
	if err := r.phase("leaving"); err != nil {
		return err
	}
	ctx, cancel := r.within(ctx)
	defer cancel()
	if err := r.comm.Close(); err != nil {
		return fmt.Errorf("unloading the kernels: %w", err)
	}
	if err := r.memory.Free(ctx); err != nil {
		return fmt.Errorf("freeing the shared memory: %w", err)
	}
	if err := r.group.Leave(ctx); err != nil {
		return fmt.Errorf("leaving the rendezvous: %w", err)
	}
	return nil
}

// layout says where things lie in the symmetric memory, in bytes from its
// base: the signal pad, the scratch, an input, and an output.
type layout struct {
	scratch, packets, send, recv int64
	total                        int64
}

// alignment of buffers: that of cudaMalloc.
const alignment = 256

func layOut(scratchBytes, bufferBytes int64, sms int) layout {
	var l layout
	at := roundUp(collective.SignalPadBytes)
	l.scratch, at = at, at+roundUp(scratchBytes)
	l.packets, at = at, at+collective.RoomForPackets(sms)
	l.send, at = at, at+roundUp(bufferBytes)
	l.recv, at = at, at+roundUp(bufferBytes)
	l.total = at
	return l
}

func roundUp(bytes int64) int64 { return (bytes + alignment - 1) / alignment * alignment }

// exchange is the rendezvous as symmetric memory needs it.
type exchange struct {
	*rendezvous.Group
	files *fdpass.Peer
}

// AllGatherFiles sends the own file to every local peer and returns theirs.
func (e exchange) AllGatherFiles(ctx context.Context, name string, mine *os.File) ([]*os.File, error) {
	return e.files.AllGather(ctx, name, mine)
}

// gather returns what every rank passed, by rank.
func gather[T any](ctx context.Context, g *rendezvous.Group, name string, mine T) ([]T, error) {
	data, err := json.Marshal(mine)
	if err != nil {
		return nil, fmt.Errorf("gathering %s: %w", name, err)
	}
	all, err := g.AllGather(ctx, name, data)
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

var _ symm.Exchange = exchange{}
