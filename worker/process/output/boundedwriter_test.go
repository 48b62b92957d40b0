package output

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

// timeout bounds every wait of a test.
const timeout = 20 * time.Second

// A write to a pipe that is not read waits until the process is asked to end, and then times out.
func TestBoundedWriterWithoutAReader(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	ctx, cancel := context.WithCancel(t.Context())
	o := NewBoundedWriter(ctx, write)
	more := bytes.Repeat([]byte{'x'}, 1<<20) // than a pipe holds
	ended := make(chan error, 1)
	go func() {
		_, err := o.Write(more)
		ended <- err
	}()
	select {
	case err := <-ended:
		t.Fatalf("a write that nobody reads ended with %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, errNotRead) {
			t.Errorf("got %v", err)
		}
	case <-time.After(writeTimeout + timeout):
		t.Fatal("the write did not give up")
	}
	begun := time.Now()
	if _, err := o.Write([]byte("y")); !errors.Is(err, errNotRead) || time.Since(begun) > writeTimeout/2 {
		t.Errorf("the next one got %v after %v", err, time.Since(begun))
	}
}

// A slow reader loses nothing, not even output that is written after the process was asked to end.
func TestBoundedWriterWithASlowReader(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	all := make(chan []byte, 1)
	go func() {
		time.Sleep(writeTimeout / 4)
		data, _ := io.ReadAll(read)
		all <- data
	}()
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	if n, err := NewBoundedWriter(ctx, write).Write(want); n != len(want) || err != nil {
		t.Errorf("wrote %d bytes: %v", n, err)
	}
	write.Close()
	if got := <-all; !bytes.Equal(got, want) {
		t.Errorf("%d bytes came, want %d", len(got), len(want))
	}
}
