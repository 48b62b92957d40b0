package kernelfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpurun/cudart"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// ours are the algorithms that testdata/own describes as kernels of users.
var ours = []func() *collective.Algorithm{
	allreduce.OneShot, allreduce.OneShotLL, allreduce.OneShotLamport, allreduce.TwoShot, allreduce.TwoShotPush,
}

// A launch from a file is, to the byte, the launch of the algorithm that the file describes.
func TestFilesOfOurAlgorithmsLaunchTheSame(t *testing.T) {
	for _, make := range ours {
		algorithm := make()
		t.Run(algorithm.Name, func(t *testing.T) {
			f := readOwn(t, algorithm.Name)
			rapid.Check(t, func(t *rapid.T) {
				call, c := drawCall(t, f)
				want := launchOurs(t, algorithm, c)
				got, err := f.Bind(call, nil, c)
				switch {
				case err != nil:
					t.Fatal(err)
				case c.call.Count == 0 && len(got) == 0 && want == nil:
					return
				case len(got) != 1 || want == nil:
					t.Fatalf("%d steps for %d elements", len(got), c.call.Count)
				}
				if d := cmp.Diff(*want, launched{got[0].Entry, got[0].Launch, string(got[0].Params)}); d != "" {
					t.Fatal(d)
				}
			})
		})
	}
}

func readOwn(t *testing.T, name string) *kernelfile.File {
	path := filepath.Join("testdata/own", name+".toml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := kernelfile.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// ownCase is a call, and the memory that a file and a Comm find the same.
type ownCase struct {
	world, rank, sms int
	call             collective.Call
	offsets          map[string]int64 // of buffers from the pad
}

const (
	faultAt   = 0xfa0000
	timeout   = 10 * time.Second
	gigabyte  = int64(1) << 30
	firstBase = int64(1) << 40
)

// countsOfFullGrids are those where blocks become larger: a vector for each thread of a few blocks, more or less.
var countsOfFullGrids = rapid.Custom(func(t *rapid.T) int64 {
	threads := rapid.SampledFrom([]int64{128, 256}).Draw(t, "threads") * rapid.Int64Range(1, 4).Draw(t, "blocks of them")
	vectors := threads + rapid.Int64Range(0, 2).Draw(t, "more vectors")
	return vectors * rapid.SampledFrom([]int64{4, 8}).Draw(t, "elements of a vector")
})

func drawCall(t *rapid.T, f *kernelfile.File) (kernelfile.Call, *ownCase) {
	types := []collective.DType{collective.Float, collective.BFloat16, collective.Half}
	c := &ownCase{
		world: rapid.IntRange(1, collective.MaxRanks).Draw(t, "world"),
		sms:   rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, 150)).Draw(t, "sms"),
		call: collective.Call{
			Count:  rapid.OneOf(rapid.Int64Range(0, 3000), rapid.Int64Range(0, 1<<32), countsOfFullGrids).Draw(t, "count"),
			DType:  rapid.SampledFrom(types).Draw(t, "type"),
			Op:     rapid.SampledFrom(collective.Ops()).Draw(t, "op"),
			Blocks: rapid.IntRange(0, 140).Draw(t, "blocks"),
		},
		offsets: map[string]int64{"pad": 0},
	}
	c.rank = rapid.IntRange(0, c.world-1).Draw(t, "rank")
	for i, name := range []string{"input", "output", "scratch", "packets", "mailboxes"} {
		c.offsets[name] = int64(i+1) * gigabyte
	}
	c.call.Send, c.call.Recv = c.offsets["input"], c.offsets["output"]
	return kernelfile.Call{
		Rank: c.rank, World: c.world, Type: c.call.DType.Name, Op: string(c.call.Op), ElementBytes: int64(c.call.DType.Size),
		Count: c.call.Count, SMs: c.sms, Blocks: c.call.Blocks, TimeoutNS: timeout.Nanoseconds(),
		InputBytes: c.call.Bytes(), OutputBytes: c.call.Bytes(),
	}, c
}

// The addresses for the file.

func (c *ownCase) Address(buffer string, rank int) (uint64, error) {
	if buffer == "fault" {
		return faultAt, nil
	}
	at, ok := c.offsets[buffer]
	if !ok {
		return 0, fmt.Errorf("no buffer %s", buffer)
	}
	return uint64(firstBase*int64(rank+1) + at), nil
}

func (c *ownCase) Multicast(string) (uint64, error) { panic("not used") }
func (c *ownCase) Table([]byte) (uint64, error)     { panic("not used") }
func (c *ownCase) TensorMap(cudart.TensorMap) (m [cudart.TensorMapBytes]byte, err error) {
	panic("not used")
}

// launched is what reaches a stream.
type launched struct {
	Entry  string
	Launch cudart.Launch
	Params string
}

// launchOurs has the algorithm launch the call, and returns the launch, or nil where there is none.
func launchOurs(t *rapid.T, a *collective.Algorithm, c *ownCase) *launched {
	d := &device{sms: c.sms}
	cfg := collective.Config{
		Device: d, Rank: c.rank, SMs: c.sms, Timeout: timeout,
		Source: func(string) ([]byte, error) { return nil, nil },
	}
	for r := range c.world {
		cfg.Peers = append(cfg.Peers, cudart.DevicePtr(firstBase*int64(r+1)))
	}
	switch {
	case a.Needs.Packets:
		cfg.PacketOffset, cfg.PacketBytes = c.offsets["packets"], collective.PacketAreaBytes(collective.MaxBlocks)
	case a.Needs.Mailboxes:
		cfg.MailboxOffset, cfg.MailboxBytes = c.offsets["mailboxes"], collective.MailboxAreaBytes(collective.MaxBlocks)
	}
	if a.ScratchBytes != nil {
		cfg.ScratchOffset = c.offsets["scratch"]
	}
	comm, err := collective.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Enqueue(comm, stream{d: d}, c.call); err != nil {
		t.Fatal(err)
	}
	if d.launched != nil {
		d.launched.Entry = a.Name + "_any" // of several kernels, that for any number of ranks
		d.launched.Launch.PDL = false
	}
	return d.launched
}

// device is one that keeps the launch.
type device struct {
	cudart.Device
	sms      int
	launched *launched
}

func (d *device) Info() cudart.Info                             { return cudart.Info{Major: 9, SMs: d.sms} }
func (d *device) MallocHost(n int64) (cudart.HostBuffer, error) { return host{}, nil }
func (d *device) NewStream(...cudart.StreamOption) (cudart.Stream, error) {
	return stream{d: d}, nil
}
func (d *device) NewEvent() (cudart.Event, error)                  { return nil, nil }
func (d *device) LoadModule(string, []byte) (cudart.Module, error) { return module{}, nil }

type host struct{ cudart.HostBuffer }

func (host) DevicePtr() cudart.DevicePtr { return faultAt }

type module struct{ cudart.Module }

func (module) Kernel(entry string) (cudart.Kernel, error) { return kernel(entry), nil }

type kernel string

func (k kernel) Name() string { return string(k) }

type stream struct {
	cudart.Stream
	d *device
}

func (stream) Fill(cudart.DevicePtr, byte, int64) error { return nil }
func (stream) Upload(cudart.DevicePtr, []byte) error    { return nil }
func (s stream) Launch(k cudart.Kernel, shape cudart.Launch, params []byte) error {
	s.d.launched = &launched{k.Name(), shape, string(params)}
	return nil
}

func TestFilesOfOurAlgorithmsAskForTheirMemory(t *testing.T) {
	for _, make := range ours {
		algorithm := make()
		f := readOwn(t, algorithm.Name)
		call := kernelfile.Call{World: 5, Count: 1 << 20, ElementBytes: 4}
		sizes, err := f.Sizes(call)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range f.Buffers {
			want := map[string]int64{
				"pad": collective.SignalPadBytes, "fault": collective.FaultBytes,
				"packets":   collective.PacketAreaBytes(collective.MaxBlocks),
				"mailboxes": collective.MailboxAreaBytes(collective.MaxBlocks),
			}
			if algorithm.ScratchBytes != nil {
				want["scratch"] = algorithm.ScratchBytes(5, 4<<20)
			}
			if sizes[i] != want[b.Name] {
				t.Errorf("%s: %s has %d bytes, want %d", algorithm.Name, b.Name, sizes[i], want[b.Name])
			}
		}
	}
}
