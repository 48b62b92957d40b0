package kerneldraft

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	simptx "gpurun/cudart/sim/ptx"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/ptx"
)

// Where the buffers of a test's call are, in bytes from the base of each rank's memory.
var places = map[string]int64{
	"pad": 0, "scratch": 1 << 20, "packets": 1 << 25, "input": 1 << 30, "output": 1 << 31,
}

// memory has the addresses of the test's Comm.
type memory struct {
	peers []cudart.DevicePtr
	call  collective.Call
	rank  int
}

func (m memory) Address(buffer string, rank int) (uint64, error) {
	at, ok := places[buffer]
	switch buffer {
	case "fault":
		return 0, nil // compared apart
	case "input":
		at = m.call.Send + int64(rank-m.rank)*m.call.SendStep
	case "output":
		at = m.call.Recv
	}
	if !ok {
		return 0, fmt.Errorf("there is no buffer %s", buffer)
	}
	return uint64(m.peers[rank]) + uint64(at), nil
}

func (m memory) Multicast(string) (uint64, error) { return multicast, nil }
func (m memory) Table([]byte) (uint64, error)     { return 0, nil }

func (m memory) TensorMap(cudart.TensorMap) (none [cudart.TensorMapBytes]byte, err error) {
	return none, nil
}

// recorder is a stream that keeps launches in place of making them.
type recorder struct {
	cudart.Stream
	launch cudart.Launch
	params []byte
	count  int
}

func (r *recorder) Launch(_ cudart.Kernel, l cudart.Launch, params []byte) error {
	r.launch, r.params = l, bytes.Clone(params)
	r.count++
	return nil
}

const (
	ranks, thisRank, sms = 3, 1, 24
	multicast            = 3 << 50
)

func newComm(t *testing.T, device cudart.Device) (*collective.Comm, []cudart.DevicePtr) {
	t.Helper()
	own, err := device.Malloc(1 << 26)
	if err != nil {
		t.Fatal(err)
	}
	peers := []cudart.DevicePtr{1 << 50, own, 2 << 50}
	c, err := collective.New(collective.Config{
		Device: device, Source: ptx.Source, Rank: thisRank, Peers: peers, SMs: sms, Timeout: time.Second,
		Multicast: multicast, ScratchOffset: places["scratch"], PacketOffset: places["packets"],
		MailboxOffset: places["packets"],
		PacketBytes:   collective.PacketAreaBytes(64), MailboxBytes: collective.MailboxAreaBytes(64),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, peers
}

// A kernel file of one of our algorithms launches what the algorithm itself launches: the same grid and block, and the
// same arguments to the bit.
func TestOwnAlgorithmsAsFiles(t *testing.T) {
	device, err := sim.New(1, sim.Options{}).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	comm, peers := newComm(t, device)
	for of, all := range recipes {
		what, _ := kernels.Find(of)
		for name := range all {
			a, _ := what.Algorithm(name)
			f, bundle := parseOwn(t, of, name)
			for _, bytes := range []int64{4, 20, 4096, 100_004, 1 << 20, 77_777_776} {
				for _, op := range []collective.Op{collective.Sum, collective.Avg} {
					for _, inPlace := range []bool{false, true} {
						if !what.Shape.Reduces {
							op = collective.None
						}
						_, _, _, can := what.Shape.InPlace(thisRank)
						if inPlace && (a.Needs.SeparateOutput || !can) {
							continue
						}
						call := newCall(what, op, bytes/4, inPlace)
						compare(t, comm, peers, a, call, inPlace, f, bundle)
					}
				}
			}
		}
	}
}

// newCall is a call whose buffers lie at the test's places.
func newCall(what *collective.Collective, op collective.Op, count int64, inPlace bool) collective.Call {
	call := collective.Call{
		Count: count, DType: collective.Float, Op: op, Send: places["input"], Recv: places["output"],
	}
	if send, recv, step, ok := what.Shape.InPlace(thisRank); inPlace && ok {
		part := call.Bytes()
		call.Send, call.Recv, call.SendStep = call.Recv+send*part, call.Recv+recv*part, step*part
	}
	return call
}

func parseOwn(t *testing.T, of, name string) (*kernelfile.File, *kernelfile.Bundle) {
	t.Helper()
	files, err := Own(of, name, []collective.DType{collective.Float})
	if err != nil {
		t.Fatal(err)
	}
	f, err := kernelfile.Parse(files[0].Name, files[0].Text)
	if err != nil {
		t.Fatalf("%v\n%s", err, files[0].Text)
	}
	key := f.Launches()[0].Key(kernelfile.Call{World: ranks, Type: "float"})
	if len(files) != 2 || files[1].Name != key {
		t.Fatalf("%s names the module %s", files[0].Name, key)
	}
	parsed, err := simptx.Parse(key, files[1].Text)
	if err != nil {
		t.Fatal(err)
	}
	params := map[string][]kernelfile.Param{}
	for _, e := range parsed.Entries {
		params[e.Name] = []kernelfile.Param{{Bytes: int(e.Params[0].Size), Align: e.Params[0].Align}}
	}
	return f, &kernelfile.Bundle{Modules: map[string]kernelfile.Module{key: {Path: key, PTX: true, Entries: params}}}
}

func compare(t *testing.T, comm *collective.Comm, peers []cudart.DevicePtr, a *collective.Algorithm,
	call collective.Call, inPlace bool, f *kernelfile.File, bundle *kernelfile.Bundle,
) {
	t.Helper()
	var r recorder
	if err := a.Enqueue(comm, &r, call); err != nil {
		t.Fatal(err)
	}
	steps, err := f.Bind(kernelfile.Call{
		Rank: thisRank, World: ranks, Type: "float", Op: string(call.Op), ElementBytes: 4, Count: call.Count,
		InPlace: inPlace, SMs: sms, TimeoutNS: time.Second.Nanoseconds(),
	}, bundle, memory{peers, call, thisRank})
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) != r.count || r.count != 1 {
		t.Fatalf("%s %s: %d steps, and %d launches", a.Collective, a.Name, len(steps), r.count)
	}
	const member = 8
	ignore := []uintptr{unsafe.Offsetof(collective.Params{}.Fault)} // the Comm's own
	if recipes[a.Collective][a.Name].scratch == "" {
		ignore = append(ignore, unsafe.Offsetof(collective.Params{}.ScratchOffset))
	}
	if !a.Needs.Packets && !a.Needs.Mailboxes {
		ignore = append(ignore, unsafe.Offsetof(collective.Params{}.PacketOffset))
	}
	if !a.Needs.Multicast {
		ignore = append(ignore, unsafe.Offsetof(collective.Params{}.Multicast))
	}
	for _, at := range ignore {
		clear(r.params[at : at+member])
	}
	got := steps[0]
	if got.Launch.Grid() != r.launch.Grid() || got.Launch.Block() != r.launch.Block() ||
		got.Launch.SharedBytes != r.launch.SharedBytes {
		t.Errorf("%s %s, %d elements: a launch of %+v, want %+v", a.Collective, a.Name, call.Count, got.Launch, r.launch)
	}
	if !slices.Equal(got.Params, r.params) {
		at := 0
		for at < min(len(got.Params), len(r.params)) && got.Params[at] == r.params[at] {
			at++
		}
		t.Errorf("%s %s, %d elements, in place %t: the arguments differ at byte %d of %d and %d", a.Collective, a.Name,
			call.Count, inPlace, at, len(got.Params), len(r.params))
	}
}

// What a kernel file cannot express is refused by name, with what it can.
func TestOwnAlgorithmsThatAreRefused(t *testing.T) {
	for _, c := range kernels.Collectives() {
		for _, a := range c.Algorithms {
			_, err := Own(c.Name, a.Name, []collective.DType{collective.Float})
			if _, ok := recipes[c.Name][a.Name]; ok != (err == nil) {
				t.Errorf("%s %s: %v", c.Name, a.Name, err)
			}
		}
	}
	for _, c := range []struct{ of, algorithm, want string }{
		{"allredcue", "oneshot", `did you mean "allreduce"`},
		{"allreduce", "oneshoot", `did you mean "oneshot"`},
	} {
		if _, err := Own(c.of, c.algorithm, nil); err == nil || !bytes.Contains([]byte(err.Error()), []byte(c.want)) {
			t.Errorf("%s %s: %v", c.of, c.algorithm, err)
		}
	}
	mixed := []collective.DType{collective.Float, collective.Int8}
	if _, err := Own("allreduce", "oneshot_lamport", mixed); err == nil {
		t.Error("oneshot_lamport has no kernel for int8")
	}
}
