package driver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/cudart/dl"
)

func TestCopies(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	a, b := must[cudart.DevicePtr](t)(d.Malloc(100)), must[cudart.DevicePtr](t)(d.Malloc(100))
	f.calls()
	want, got := fillBytes(100), make([]byte, 100)
	for _, err := range []error{
		s.Fill(b, 0xee, 100), s.Upload(a, want), s.Copy(b+1, a, 98), s.Download(got, b),
		s.Fill(b, 1, 0), s.Copy(b, a, 0), s.Upload(a, nil), s.Download(nil, a),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff("\xee"+string(want[:98])+"\xee", string(got)); diff != "" {
		t.Error(diff)
	}
	wantCalls(
		t, f, "cuMemsetD8Async 0xee 100",
		"cuMemcpyHtoDAsync_v2 100", "cuStreamSynchronize",
		"cuMemcpyDtoDAsync_v2 98",
		"cuMemcpyDtoHAsync_v2 100", "cuStreamSynchronize",
	)
	wantCode(t, s.Copy(b, a, -1), cudart.ErrInvalidValue, "-1 bytes")
	wantCode(t, s.Fill(b, 0, -1), cudart.ErrInvalidValue, "-1 bytes")
}

func TestSynchronize(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	f.busy(100)
	if err := s.Synchronize(t.Context()); err != nil {
		t.Error(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Synchronize(canceled); err != nil {
		t.Errorf("idle stream, canceled context: %v", err)
	}
	f.busy(1 << 30)
	if err := s.Synchronize(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("busy stream, canceled context: %v", err)
	}
	f.busy(0)
	f.failNext("cuStreamQuery", cudart.ErrIllegalAddress)
	wantCode(t, s.Synchronize(t.Context()), cudart.ErrIllegalAddress, "an earlier kernel crashed")
	wantCode(t, s.Upload(1, []byte{1}), cudart.ErrIllegalAddress, "waiting for earlier work before cuMemcpyHtoDAsync_v2")
	f.call("fake_fail", 0, 0)
}

func TestEvents(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	start, end := must[cudart.Event](t)(d.NewEvent()), must[cudart.Event](t)(d.NewEvent())
	if err := errors.Join(s.Record(start), s.Record(end)); err != nil {
		t.Fatal(err)
	}
	took := must[time.Duration](t)(end.Since(start))
	if diff := cmp.Diff(250*time.Microsecond, took); diff != "" {
		t.Error(diff)
	}
	wantCalls(t, f, "cuEventCreate 0", "cuEventCreate 0", "cuEventRecord", "cuEventRecord", "cuEventElapsedTime_v2")
	wantCode(t, s.Record(nil), cudart.ErrInvalidHandle, "another device's")
	_, err := end.Since(nil)
	wantCode(t, err, cudart.ErrInvalidHandle, "another device's")
	if err := errors.Join(start.Close(), end.Close(), end.Close()); err != nil {
		t.Error(err)
	}
	wantCalls(t, f, "cuEventDestroy_v2", "cuEventDestroy_v2")
}

func TestCapture(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	ptr := must[cudart.DevicePtr](t)(d.Malloc(64))
	f.calls()
	g := must[cudart.Graph](t)(s.Capture(func() error {
		wantCode(t, s.Synchronize(t.Context()), cudart.ErrCaptureForbidden, "being captured")
		wantCode(t, s.Upload(ptr, []byte{1}), cudart.ErrCaptureForbidden, "being captured")
		return s.Fill(ptr, 1, 64)
	}))
	if err := errors.Join(g.Launch(s), g.Launch(s), g.Close()); err != nil {
		t.Error(err)
	}
	wantCalls(
		t, f, "cuStreamBeginCapture_v2 2", "cuMemsetD8Async 0x1 64", "cuStreamEndCapture",
		"cuGraphInstantiateWithFlags 0", "cuGraphDestroy", "cuGraphLaunch", "cuGraphLaunch", "cuGraphExecDestroy",
	)
	wantCode(t, g.Launch(nil), cudart.ErrInvalidHandle, "another device's")
}

func TestHighPriorityStream(t *testing.T) {
	f := newFake(t)
	d := f.open()
	must[cudart.Stream](t)(d.NewStream(cudart.HighPriority))
	wantCalls(t, f, "cuCtxGetStreamPriorityRange", "cuStreamCreateWithPriority 1 -5")
	f.failNext("cuCtxGetStreamPriorityRange", cudart.ErrInvalidContext)
	_, err := d.NewStream(cudart.HighPriority)
	wantCode(t, err, cudart.ErrInvalidContext, "asking for the priorities of streams")
}

func TestWriteValue(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	word := must[cudart.DevicePtr](t)(d.Malloc(12))
	f.calls()
	got := make([]byte, 12)
	for _, err := range []error{s.Fill(word, 0xee, 12), s.WriteValue(word+4, 0x84030201), s.Download(got, word)} {
		if err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff("\xee\xee\xee\xee\x01\x02\x03\x84\xee\xee\xee\xee", string(got)); diff != "" {
		t.Error(diff)
	}
	wantCalls(
		t, f, "cuMemsetD8Async 0xee 12", "cuStreamWriteValue32_v2 0x84030201 0",
		"cuMemcpyDtoHAsync_v2 12", "cuStreamSynchronize",
	)
	wantCode(t, s.WriteValue(word+2, 1), cudart.ErrInvalidValue, "not a multiple of 4")
	wantCode(t, s.WriteValue(word+12, 1), cudart.ErrInvalidValue, "cuStreamWriteValue32_v2")
	d.api.streamWriteValue = dl.Func{}
	wantCode(t, s.WriteValue(word, 1), cudart.ErrNotSupported, "a driver for CUDA 11.7 or newer")
}

func TestWaitValue(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	word := must[cudart.DevicePtr](t)(d.Malloc(12))
	f.calls()
	if err := s.WaitValue(word+8, 0xffffffff); err != nil {
		t.Error(err)
	}
	wantCalls(t, f, "cuStreamWaitValue32_v2 0xffffffff 0")
	wantCode(t, s.WaitValue(word+2, 1), cudart.ErrInvalidValue, "not a multiple of 4")
	wantCode(t, s.WaitValue(word+12, 1), cudart.ErrInvalidValue, "cuStreamWaitValue32_v2")
	d.api.streamWaitValue = dl.Func{}
	wantCode(t, s.WaitValue(word, 1), cudart.ErrNotSupported, "a driver for CUDA 11.7 or newer")
}

func TestStreamsWaitForEvents(t *testing.T) {
	f := newFake(t)
	d := f.open()
	first, second := f.stream(d), f.stream(d)
	e := must[cudart.Event](t)(d.NewEvent())
	f.calls()
	if err := errors.Join(first.Record(e), second.Wait(e)); err != nil {
		t.Fatal(err)
	}
	wantCalls(t, f, "cuEventRecord", "cuStreamWaitEvent 0")
	wantCode(t, second.Wait(nil), cudart.ErrInvalidHandle, "another device's")
	f.failNext("cuStreamWaitEvent", cudart.ErrCaptureIsolation)
	wantCode(t, second.Wait(e), cudart.ErrCaptureIsolation, "cuStreamWaitEvent")
}

// TestStreamsJoinCaptures has the second stream join the first one's capture,
// which ends for both.
func TestStreamsJoinCaptures(t *testing.T) {
	f := newFake(t)
	d := f.open()
	first, second := f.stream(d), f.stream(d)
	e := must[cudart.Event](t)(d.NewEvent())
	f.calls()
	must[cudart.Graph](t)(first.Capture(func() error {
		err := errors.Join(first.Record(e), second.Wait(e))
		wantCode(t, second.Synchronize(t.Context()), cudart.ErrCaptureForbidden, "being captured")
		return errors.Join(err, second.Record(e), first.Wait(e))
	}))
	for _, s := range []cudart.Stream{first, second} {
		if err := s.Synchronize(t.Context()); err != nil {
			t.Errorf("after the capture: %v", err)
		}
	}
	wantCalls(
		t, f, "cuStreamBeginCapture_v2 2", "cuEventRecord", "cuStreamWaitEvent 0", "cuEventRecord", "cuStreamWaitEvent 0",
		"cuStreamEndCapture", "cuGraphInstantiateWithFlags 0", "cuGraphDestroy",
	)
	// The event is still one of the capture that is over, which nobody joins.
	if err := errors.Join(second.Wait(e), second.Synchronize(t.Context())); err != nil {
		t.Error(err)
	}
	f.failNext("cuStreamEndCapture", cudart.ErrCaptureUnjoined)
	_, err := first.Capture(func() error { return nil })
	wantCode(t, err, cudart.ErrCaptureUnjoined, "was not joined back")
}

func TestFailedCaptureKeepsNothing(t *testing.T) {
	f := newFake(t)
	d := f.open()
	s := f.stream(d)
	enqueue := errors.New("enqueue failed")
	_, err := s.Capture(func() error { return enqueue })
	if !errors.Is(err, enqueue) {
		t.Errorf("got %v", err)
	}
	wantCalls(t, f, "cuStreamBeginCapture_v2 2", "cuStreamEndCapture", "cuGraphDestroy")
	for _, call := range []string{"cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags"} {
		f.failNext(call, cudart.ErrNotPermitted)
		_, err = s.Capture(func() error { return nil })
		wantCode(t, err, cudart.ErrNotPermitted, call)
	}
	if live := f.live(); live != "contexts=1 stream=1" {
		t.Errorf("left behind: %s", live)
	}
	if err := s.Synchronize(t.Context()); err != nil {
		t.Errorf("the stream is still captured: %v", err)
	}
}
