package sim

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"gpurun/cudart"
)

func TestWriteValueIsChecked(t *testing.T) {
	d := openDevice(t)
	s, word := mustStream(t, d), mustMalloc(t, d, 256)
	for name, at := range map[string]cudart.DevicePtr{"null": 0, "unaligned": word + 2, "behind the end": word + 256} {
		if err := s.WriteValue(at, 1); !isResult(err, cudart.ErrInvalidValue) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got := make([]byte, 12)
	if err := errors.Join(s.Fill(word, 0xee, 12), s.WriteValue(word+4, 0x84030201), s.Download(got, word)); err != nil {
		t.Fatal(err)
	}
	if want := []byte("\xee\xee\xee\xee\x01\x02\x03\x84\xee\xee\xee\xee"); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	g, err := s.Capture(func() error { return s.WriteValue(word, 1) })
	if err := errors.Join(err, d.Free(word), g.Launch(s)); err != nil {
		t.Fatal(err)
	}
	if err := synchronize(t, s); !isResult(err, cudart.ErrInvalidValue) {
		t.Errorf("a word that was freed: %v", err)
	}
}

// copied has one stream fill memory and then write a word, which was something else before,
// and another one copy the memory when the word is at a value. It returns the copy.
func copied(t *testing.T, seed uint64, before, written, wanted uint32) []byte {
	t.Helper()
	d := openWith(t, Options{Seed: seed})
	first, second := mustStream(t, d), mustStream(t, d)
	from, to, word := mustMalloc(t, d, 256), mustMalloc(t, d, 256), mustMalloc(t, d, 4)
	got := make([]byte, 256)
	for _, err := range []error{
		first.WriteValue(word, before), synchronize(t, first),
		second.WaitValue(word, wanted), second.Copy(to, from, 256),
		first.Fill(from, 5, 256), first.WriteValue(word, written), second.Download(got, to),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return got
}

// A stream waits until a word is at a value, or beyond, also where it has wrapped around.
func TestStreamsWaitForValues(t *testing.T) {
	complete := bytes.Repeat([]byte{5}, 256)
	for _, c := range []struct {
		before, written, wanted uint32
		waits                   bool
	}{
		{0, 1, 1, true},
		{3, 7, 5, true},
		{0xffffffff, 0, 0, true},
		{0xfffffff0, 2, 0xffffffff, true},
		{0, 1, 0, false},
		{0, 1, 0x80000002, false},
	} {
		early := 0
		for seed := range uint64(20) {
			if !bytes.Equal(copied(t, seed, c.before, c.written, c.wanted), complete) {
				early++
			}
		}
		if c.waits != (early == 0) {
			t.Errorf("waiting for %#x where %#x became %#x: %d of 20 seeds did not wait", c.wanted, c.before, c.written, early)
		}
	}
}

// Streams that wait for a word that never comes end with their device, and when it breaks.
func TestNobodyWaitsForAValueForever(t *testing.T) {
	for name, end := range map[string]func(d *Device) error{
		"closed": (*Device).Close,
		"broken": func(d *Device) error {
			d.setFault(errors.New("a fault"))
			return nil
		},
	} {
		d := openDevice(t)
		s, word := mustStream(t, d), mustMalloc(t, d, 4)
		if err := s.WaitValue(word, 1); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Synchronize(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a stream that waits: %v", name, err)
		}
		if err := end(d); err != nil {
			t.Fatal(err)
		}
		if err := s.Synchronize(t.Context()); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWaitValueIsChecked(t *testing.T) {
	d := openDevice(t)
	s, word := mustStream(t, d), mustMalloc(t, d, 256)
	for name, at := range map[string]cudart.DevicePtr{"null": 0, "unaligned": word + 2, "behind the end": word + 256} {
		if err := s.WaitValue(at, 1); !isResult(err, cudart.ErrInvalidValue) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
