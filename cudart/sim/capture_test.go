package sim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"gpurun/cudart"
)

// handOver has one stream fill memory and another copy it, and returns what the
// other one found. order puts the two in order.
func handOver(t *testing.T, seed uint64, order func(first, second cudart.Stream, e cudart.Event) error) []byte {
	t.Helper()
	d := openWith(t, Options{Seed: seed})
	first, second := mustStream(t, d), mustStream(t, d)
	from, to := mustMalloc(t, d, 256), mustMalloc(t, d, 256)
	got := make([]byte, 256)
	for _, err := range []error{
		first.Fill(from, 5, 256), order(first, second, mustEvent(t, d)), second.Copy(to, from, 256), second.Download(got, to),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func TestStreamsWaitForEvents(t *testing.T) {
	complete := bytes.Repeat([]byte{5}, 256)
	early := 0
	for seed := range uint64(50) {
		got := handOver(t, seed, func(first, second cudart.Stream, e cudart.Event) error {
			return errors.Join(first.Record(e), second.Wait(e))
		})
		if !bytes.Equal(got, complete) {
			t.Errorf("seed %d: got %v", seed, got)
		}
		got = handOver(t, seed, func(first, second cudart.Stream, e cudart.Event) error {
			return errors.Join(second.Wait(e), first.Record(e)) // before it is recorded there is nothing to wait for
		})
		if seed > 0 && !bytes.Equal(got, complete) {
			early++
		}
	}
	if early == 0 {
		t.Error("no seed finds that nobody waits for the event")
	}
}

// A stream waits for where the event was recorded then, not for where it is
// recorded later.
func TestWaitIsForTheLastRecord(t *testing.T) {
	d := openDevice(t)
	k, first, second := mustKernel(t, d, "wait_for_flag"), mustStream(t, d), mustStream(t, d)
	e, flag := mustEvent(t, d), mustMalloc(t, d, 4)
	for _, err := range []error{
		first.Record(e), second.Wait(e),
		first.Launch(k, cudart.Launch{Blocks: 1, Threads: 32}, params(uint64(flag))), first.Record(e),
		second.WriteValue(flag, 1), synchronize(t, first), synchronize(t, second),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	other := openDevice(t)
	if err := mustStream(t, other).Wait(e); !isResult(err, cudart.ErrInvalidHandle) {
		t.Errorf("an event of another device: %v", err)
	}
}

// A stream neither waits for a kernel on another one when it copies to and from
// the host, nor needs somebody to wait for it.
func TestStreamsDoNotWaitForEachOther(t *testing.T) {
	for seed := range uint64(4) {
		d := openWith(t, Options{Seed: seed})
		k, first, second := mustKernel(t, d, "wait_for_flag"), mustStream(t, d), mustStream(t, d)
		flag := mustMalloc(t, d, 4)
		got := make([]byte, 4)
		for _, err := range []error{
			first.Launch(k, cudart.Launch{Blocks: 2, Threads: 64}, params(uint64(flag))),
			second.Upload(flag, []byte{2, 0, 0, 0}), second.Download(got, flag),
			second.WriteValue(flag, 1), synchronize(t, first),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got[0] != 2 {
			t.Errorf("downloaded %v", got)
		}
	}
}

func TestCapturesOfTwoStreams(t *testing.T) {
	d := openDevice(t)
	first, second, third := mustStream(t, d), mustStream(t, d), mustStream(t, d)
	fork, join, outside := mustEvent(t, d), mustEvent(t, d), mustEvent(t, d)
	word := mustMalloc(t, d, 4)
	if err := errors.Join(first.Record(outside), synchronize(t, first)); err != nil {
		t.Fatal(err)
	}
	forked := func(rest ...error) error {
		return errors.Join(append([]error{first.Record(fork), second.Wait(fork)}, rest...)...)
	}
	for name, tt := range map[string]struct {
		enqueue func() error
		want    cudart.Result
	}{
		"joined back": {func() error {
			return errors.Join(forked(), second.Fill(word, 1, 4), second.Record(join), first.Wait(join))
		}, 0},
		"nothing to join": {func() error { return forked() }, 0},
		"joined by a third": {func() error {
			return errors.Join(forked(), second.Fill(word, 1, 4), second.Record(join), third.Wait(join), third.Record(join),
				first.Wait(join))
		}, 0},
		"open": {func() error { return errors.Join(forked(), second.Fill(word, 1, 4)) }, cudart.ErrCaptureUnjoined},
		"open at the end": {func() error {
			return errors.Join(forked(), second.Record(join), first.Wait(join), second.Fill(word, 1, 4))
		}, cudart.ErrCaptureUnjoined},
		"event from outside": {func() error { return first.Wait(outside) }, cudart.ErrCaptureIsolation},
		"waiting for a lane": {
			func() error { return errors.Join(forked(), second.Synchronize(context.Background())) }, cudart.ErrCaptureForbidden,
		},
		"uploading on a lane": {
			func() error { return errors.Join(forked(), second.Upload(word, []byte{1})) }, cudart.ErrCaptureForbidden,
		},
		"capturing a lane": {func() error {
			if err := forked(); err != nil {
				return err
			}
			_, err := second.Capture(func() error { return nil })
			return err
		}, cudart.ErrCaptureForbidden},
		"another capture": {func() error {
			if err := first.Record(fork); err != nil {
				return err
			}
			_, err := third.Capture(func() error { return third.Wait(fork) })
			return err
		}, cudart.ErrCaptureMerge},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := first.Capture(tt.enqueue)
			if tt.want != 0 && !isResult(err, tt.want) || tt.want == 0 && err != nil {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if err == nil {
				if err := errors.Join(g.Launch(third), synchronize(t, third), g.Close(), g.Close()); err != nil {
					t.Error(err)
				}
				if err := g.Launch(third); !isResult(err, cudart.ErrInvalidHandle) {
					t.Errorf("a closed graph: %v", err)
				}
			}
			for _, s := range []cudart.Stream{first, second, third} {
				if err := synchronize(t, s); err != nil {
					t.Errorf("after the capture: %v", err)
				}
			}
			if err := second.Wait(fork); !isResult(err, cudart.ErrCapturedEvent) && name != "event from outside" {
				t.Errorf("an event of a capture that is over: %v", err)
			}
		})
	}
}

func TestGraphsOfTwoStreamsAreNotNested(t *testing.T) {
	d := openDevice(t)
	f := newFollower(t, d)
	g := f.capture(patience)
	_, err := f.stream.Capture(func() error { return g.Launch(f.stream) })
	if !isResult(err, cudart.ErrNotSupported) {
		t.Errorf("got %v, want CUDA_ERROR_NOT_SUPPORTED", err)
	}
}

// Replays of a graph follow each other, on whichever streams, and what they leave
// behind is complete.
func TestReplaysFollowEachOther(t *testing.T) {
	const n, replays = 64, 6
	for seed := range uint64(20) {
		d := openWith(t, Options{Seed: seed})
		k := mustKernel(t, d, "vector_add")
		streams := []cudart.Stream{mustStream(t, d), mustStream(t, d)}
		one, sum := mustMalloc(t, d, 4*n), mustMalloc(t, d, 4*n)
		if err := streams[0].Upload(one, floats(n, func(int) float32 { return 1 })); err != nil {
			t.Fatal(err)
		}
		g, err := streams[0].Capture(func() error {
			return streams[0].Launch(k, cudart.Launch{Blocks: 1, Threads: n}, params(uint64(one), uint64(sum), uint64(sum), n))
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range replays {
			if err := g.Launch(streams[i%2]); err != nil {
				t.Fatal(err)
			}
		}
		got := make([]byte, 4*n)
		if err := errors.Join(synchronize(t, streams[0]), streams[1].Download(got, sum)); err != nil {
			t.Fatal(err)
		}
		if want := floats(n, func(int) float32 { return replays }); !bytes.Equal(got, want) {
			t.Errorf("seed %d: got %v, want %d everywhere", seed, math.Float32frombits(binary.LittleEndian.Uint32(got)), replays)
		}
	}
}

// Every branch of a graph begins behind what is in the stream of the launch, also
// one that follows nothing in the graph.
func TestBranchesFollowTheStream(t *testing.T) {
	for seed := range uint64(30) {
		d := openWith(t, Options{Seed: seed})
		first, second, e := mustStream(t, d), mustStream(t, d), mustEvent(t, d)
		from, to := mustMalloc(t, d, 256), mustMalloc(t, d, 256)
		g, err := first.Capture(func() error {
			return errors.Join(first.Record(e), second.Wait(e), second.Copy(to, from, 256), second.Record(e), first.Wait(e))
		})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 256)
		if err := errors.Join(first.Fill(from, 5, 256), g.Launch(first), first.Download(got, to)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, bytes.Repeat([]byte{5}, 256)) {
			t.Errorf("seed %d: got %v", seed, got)
		}
	}
}

// A copy between ranges that overlap is one of the bytes as they were.
func TestOverlappingCopies(t *testing.T) {
	const size, shift = 3 << 20, 1000
	want := pattern(size)
	for seed := range uint64(5) {
		d := openWith(t, Options{Seed: seed})
		s, at := mustStream(t, d), mustMalloc(t, d, size+shift)
		got := make([]byte, size)
		if err := errors.Join(s.Upload(at, want), s.Copy(at+shift, at, size), s.Download(got, at+shift)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("seed %d: the copy differs", seed)
		}
	}
}

// A device may be closed while a kernel waits for copies that never come.
func TestCloseEndsBranchesOfGraphs(t *testing.T) {
	d, err := New(1, Options{Seed: 3}).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	f := newFollower(t, d)
	g, err := f.stream.Capture(func() error {
		return errors.Join(f.stream.Record(f.forked), f.copies.Wait(f.forked),
			f.launch(patience), f.copies.Fill(f.in, 1, chunkBytes), f.copies.Record(f.joined), f.stream.Wait(f.joined))
	})
	if err := errors.Join(err, g.Launch(f.stream)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// The pieces of a copy are all of it, once.
func TestPiecesOfCopies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(0, 5<<20)).Draw(t, "size")
		d := &Device{seed: rapid.Uint64().Draw(t, "seed")}
		e := copyEngine{stream: &stream{delays: d.random(0, 0)}, to: make([]byte, size)}
		e.split()
		covered := make([]byte, size)
		for _, p := range e.pieces {
			if p[0] >= p[1] && size > 0 {
				t.Fatalf("an empty piece among %v", e.pieces)
			}
			for i := p[0]; i < p[1]; i++ {
				covered[i]++
			}
		}
		if i := bytes.IndexFunc(covered, func(r rune) bool { return r != 1 }); i >= 0 {
			t.Fatalf("byte %d is in %d of the pieces %v", i, covered[i], e.pieces)
		}
	})
}
