package conformance

import (
	"encoding/binary"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/probe"
	"gpurun/kernels/ptx"
)

// On a GPU, the probes write the pattern, find a word that differs from it, and walk the ring.
func TestProbesOnGPU(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	device, err := requireGPU(t).Open(0)
	must(err)
	defer device.Close()
	const bytes, lines = 1 << 20, 4096
	base, err := device.Malloc(collective.SignalPadBytes + bytes + probe.ReportBytes)
	must(err)
	comm, err := collective.New(collective.Config{
		Device: device, Source: ptx.Source, Peers: []cudart.DevicePtr{base}, SMs: device.Info().SMs, Timeout: time.Second,
	})
	must(err)
	stream, err := device.NewStream()
	must(err)
	memory := comm.Local(collective.SignalPadBytes)
	p, err := probe.New(comm, stream, memory+bytes, device.Info().SMs)
	must(err)

	key := probe.Key(1, 2, 3)
	must(p.Write(memory, bytes, key))
	raw := make([]byte, bytes)
	must(stream.Download(raw, memory))
	for i := range int64(bytes / probe.WordBytes) {
		if got := binary.LittleEndian.Uint64(raw[i*probe.WordBytes:]); got != probe.Word(key, i) {
			t.Fatalf("word %d is %#x, want %#x", i, got, probe.Word(key, i))
		}
	}
	const flipped = 4099
	must(stream.Upload(memory+flipped*probe.WordBytes, []byte{^raw[flipped*probe.WordBytes]}))
	must(p.Check(memory, bytes, key))
	if found, err := p.Read(); err != nil || found.Wrong != 1 || found.First != flipped {
		t.Errorf("one word was changed: got %+v, %v", found, err)
	}
	must(p.Ring(memory, lines))
	must(p.Walk(memory, lines))
	if found, err := p.Read(); err != nil || found.Wrong != 0 || found.Nanoseconds < lines {
		t.Errorf("a walk of %d loads: got %+v, %v", lines, found, err)
	}
}
