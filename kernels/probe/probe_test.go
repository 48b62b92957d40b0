package probe

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// bench is a prober on a simulated device with memory to probe.
type bench struct {
	*Prober
	t      *testing.T
	stream cudart.Stream
	memory cudart.DevicePtr
}

const benchBytes = 3 << 10

func newBench(t *testing.T) bench {
	t.Helper()
	device, err := sim.New(1, sim.Options{}).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { device.Close() })
	memory, err := device.Malloc(collective.SignalPadBytes + ReportBytes + benchBytes)
	if err != nil {
		t.Fatal(err)
	}
	comm, err := collective.New(collective.Config{
		Device: device, Source: ptx.Source, Peers: []cudart.DevicePtr{memory}, SMs: 4, Timeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := device.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	b := bench{t: t, stream: stream, memory: comm.Local(collective.SignalPadBytes)}
	if b.Prober, err = New(comm, stream, comm.Local(collective.SignalPadBytes+benchBytes), 4); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b bench) words() []uint64 {
	b.t.Helper()
	raw := make([]byte, benchBytes)
	b.must(b.stream.Download(raw, b.memory))
	words := make([]uint64, benchBytes/WordBytes)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(raw[i*WordBytes:])
	}
	return words
}

func (b bench) report() Report {
	b.t.Helper()
	r, err := b.Read()
	b.must(err)
	return r
}

// The kernel writes what Word says, in whole and nothing else.
func TestWrite(t *testing.T) {
	b := newBench(t)
	b.must(b.stream.Fill(b.memory, 0, benchBytes))
	key := Key(1, 2, 3)
	b.must(b.Write(b.memory, benchBytes-16, key))
	want := make([]uint64, benchBytes/WordBytes)
	for i := range want[:len(want)-2] {
		want[i] = Word(key, int64(i))
	}
	if diff := cmp.Diff(want, b.words()); diff != "" {
		t.Error(diff)
	}
}

// The comparison counts what differs, and finds the first of it.
func TestCheck(t *testing.T) {
	b := newBench(t)
	key := Key(7, 0, 1)
	for _, test := range []struct {
		name  string
		flip  []int64 // words
		key   uint64
		want  uint64
		first uint64
	}{
		{"all right", nil, key, 0, none},
		{"first word", []int64{0}, key, 1, 0},
		{"last word", []int64{benchBytes/WordBytes - 1}, key, 1, benchBytes/WordBytes - 1},
		{"several", []int64{301, 17, 18}, key, 3, 17},
		{"another pattern", nil, Key(7, 1, 0), benchBytes / WordBytes, 0},
	} {
		b.must(b.Write(b.memory, benchBytes, key))
		for _, i := range test.flip {
			word := binary.LittleEndian.AppendUint64(nil, Word(key, i)^1<<40)
			b.must(b.stream.Upload(b.memory+cudart.DevicePtr(i*WordBytes), word))
		}
		b.must(b.Check(b.memory, benchBytes, test.key))
		if diff := cmp.Diff(Report{Wrong: test.want, First: test.first}, b.report()); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// Every line is visited once before the walk is back, and a walk that does not come
// back is wrong. None leaves the ring.
func TestRingAndWalk(t *testing.T) {
	b := newBench(t)
	const lines = 8
	b.must(b.Ring(b.memory, lines))
	words, seen := b.words(), map[uint64]bool{}
	for at := uint64(0); !seen[at]; at = words[at/WordBytes] {
		seen[at] = true
	}
	if len(seen) != lines {
		t.Errorf("the ring has %d lines, want %d", len(seen), lines)
	}
	b.must(b.Walk(b.memory, lines))
	if r := b.report(); r.Wrong != 0 || r.Nanoseconds == 0 {
		t.Errorf("got %+v", r)
	}
	for _, broken := range []uint64{3 * LineBytes, 3<<40 | 3*LineBytes} {
		b.must(b.stream.Upload(b.memory+3*LineBytes, binary.LittleEndian.AppendUint64(nil, broken)))
		b.must(b.Walk(b.memory, lines))
		if r := b.report(); r.Wrong != 1 {
			t.Errorf("a line that leads to %#x: got %+v", broken, r)
		}
	}
}

func TestKeysDiffer(t *testing.T) {
	seen := map[uint64]bool{}
	for seed := range uint64(3) {
		for from := range collective.MaxRanks {
			for to := range collective.MaxRanks {
				seen[Key(seed, from, to)] = true
			}
		}
	}
	if want := 3 * collective.MaxRanks * collective.MaxRanks; len(seen) != want {
		t.Errorf("%d keys, want %d", len(seen), want)
	}
}
