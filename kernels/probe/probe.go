// Package probe checks one link between two devices: its kernels write a pattern to a peer's memory, compare it, and
// walk a chain of addresses through it. It is not a collective; package worker checks all pairs of devices with it.
package probe

import (
	"fmt"
	"unsafe"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// WordBytes is the size of a word of the pattern, and LineBytes that of a line of
// the ring.
const (
	WordBytes = 8
	LineBytes = 256
)

// none is Report.First where nothing is wrong.
const none = ^uint64(0)

// Params mirrors Probe of probe.cu, where the fields are explained.
type Params struct {
	Memory uint64
	Report uint64
	Count  int64
	Key    uint64
}

// Report mirrors Report of probe.cu: what a kernel found.
type Report struct {
	Wrong       uint64 // words
	First       uint64 // the first wrong word; undefined if none is wrong
	Nanoseconds uint64 // of a walk around the ring
}

// ReportBytes is the size of a report.
const ReportBytes = int64(unsafe.Sizeof(Report{}))

// Kernels lists the entry points.
func Kernels() []collective.Kernel {
	m := collective.Module{Name: "probe", Source: "probe/probe.cu", Arch: collective.SM80}
	var all []collective.Kernel
	for _, entry := range []string{"probe_write", "probe_check", "probe_ring", "probe_walk"} {
		all = append(all, collective.Kernel{Module: m, Entry: entry, Any: true, Op: collective.None})
	}
	return all
}

// Prober enqueues the kernels on a stream. Like the stream, it belongs to one goroutine.
type Prober struct {
	stream                   cudart.Stream
	report                   cudart.DevicePtr
	sms                      int
	write, check, ring, walk cudart.Kernel
}

// New loads the kernels for a stream of the communicator's device, which has so
// many multiprocessors. The report is ReportBytes of that device's memory.
func New(c *collective.Comm, s cudart.Stream, report cudart.DevicePtr, sms int) (*Prober, error) {
	p := &Prober{stream: s, report: report, sms: sms}
	for i, to := range []*cudart.Kernel{&p.write, &p.check, &p.ring, &p.walk} {
		var err error
		if *to, err = c.Load(Kernels()[i]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Write enqueues writing a key's pattern to memory of this device or a peer; bytes is a multiple of 16.
func (p *Prober) Write(memory cudart.DevicePtr, bytes int64, key uint64) error {
	return p.launch(p.write, memory, bytes/WordBytes, key, p.grid(bytes/2/WordBytes))
}

// Check enqueues the comparison of memory with a key's pattern. The next Read returns its report.
func (p *Prober) Check(memory cudart.DevicePtr, bytes int64, key uint64) error {
	if err := p.clear(); err != nil {
		return err
	}
	return p.launch(p.check, memory, bytes/WordBytes, key, p.grid(bytes/2/WordBytes))
}

// Ring enqueues writing a ring of so many lines, a power of two, to memory.
func (p *Prober) Ring(memory cudart.DevicePtr, lines int64) error {
	return p.launch(p.ring, memory, lines, 0, p.grid(lines))
}

// Walk enqueues a walk of one thread around the ring in memory: each load waits for the one before it. The next Read
// returns the time it took.
func (p *Prober) Walk(memory cudart.DevicePtr, lines int64) error {
	if err := p.clear(); err != nil {
		return err
	}
	return p.launch(p.walk, memory, lines, 0, cudart.Launch{Blocks: 1, Threads: 1})
}

// Read waits for the stream and returns what the last Check or Walk reported. The
// wait has no bound: the caller has synchronized with one.
func (p *Prober) Read() (Report, error) {
	var r Report
	view := unsafe.Slice((*byte)(unsafe.Pointer(&r)), ReportBytes)
	if err := p.stream.Download(view, p.report); err != nil {
		return r, fmt.Errorf("downloading the report of a probe: %w", err)
	}
	return r, nil
}

// clear makes an empty report.
func (p *Prober) clear() error {
	empty := Report{First: none}
	if err := p.stream.Upload(p.report, unsafe.Slice((*byte)(unsafe.Pointer(&empty)), ReportBytes)); err != nil {
		return fmt.Errorf("clearing the report of a probe: %w", err)
	}
	return nil
}

func (p *Prober) launch(k cudart.Kernel, memory cudart.DevicePtr, count int64, key uint64, shape cudart.Launch) error {
	params := Params{Memory: uint64(memory), Report: uint64(p.report), Count: count, Key: key}
	return p.stream.Launch(k, shape, unsafe.Slice((*byte)(unsafe.Pointer(&params)), unsafe.Sizeof(params)))
}

// grid has a thread for each item, but at most two blocks for each multiprocessor.
func (p *Prober) grid(items int64) cudart.Launch {
	const threads = 512
	blocks := (items + threads - 1) / threads
	return cudart.Launch{Blocks: int(max(min(blocks, int64(2*p.sms)), 1)), Threads: threads}
}

// Key is the key of the pattern that rank from writes to rank to, in a job with this seed.
func Key(seed uint64, from, to int) uint64 {
	return Word(seed, int64(from)<<32|int64(to))
}

// Word is word i of a key's pattern.
func Word(key uint64, i int64) uint64 {
	x := key + uint64(i+1)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
