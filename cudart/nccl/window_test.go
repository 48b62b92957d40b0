package nccl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"gpurun/cudart"
)

// windowBytes is the memory of a rank that is registered in these tests.
const windowBytes = 64

// Collectives work on buffers in the window, and a window is gone once it is deregistered.
func TestWindow(t *testing.T) {
	for _, era := range []string{"with windows", "with alltoall"} {
		t.Run(era, func(t *testing.T) {
			together(t, open(t, eras[era]), 2, func(c *Comm, rank int) error {
				var pins runtime.Pinner
				defer pins.Unpin()
				memory := pinned(&pins, make([]byte, windowBytes))
				beside := pinned(&pins, make([]int32, 1))
				w, err := c.RegisterSymmetric(memory, windowBytes)
				if err != nil {
					return err
				}
				if err := c.AllGather(memory+4*cudart.DevicePtr(rank), memory, 1, Int32, 0); err != nil {
					return err
				}
				if err := c.AllReduce(memory, beside, 1, Int32, Sum, 0); !errors.Is(err, ErrInvalidArgument) {
					return fmt.Errorf("a buffer outside of the stand-in's window: %w", err)
				}
				if err := c.Deregister(w); err != nil {
					return err
				}
				if err := c.Deregister(w); !errors.Is(err, ErrInvalidArgument) {
					return fmt.Errorf("a window that is gone: %w", err)
				}
				return errors.Join(c.AllReduce(memory, beside, 1, Int32, Sum, 0), c.Deregister(Window{}))
			})
		})
	}
}

func TestWindowsNeedAVersion(t *testing.T) {
	l := open(t, eras["with 8-bit floats"])
	err := l.SupportsWindows()
	want := fmt.Sprintf("windows of symmetric memory need NCCL 2.27.0, and %s is 2.24.3; "+
		"install a newer one with pip install -U nvidia-nccl-cu13, or give --nccl-lib FILE", l.Path())
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	together(t, l, 1, func(c *Comm, rank int) error {
		if _, err := c.RegisterSymmetric(256, windowBytes); err == nil || err.Error() != want {
			return fmt.Errorf("registering: %w", err)
		}
		return nil
	})
	if err := open(t, eras["with windows"]).SupportsWindows(); err != nil {
		t.Error(err)
	}
}

func TestRegisteringFails(t *testing.T) {
	l := open(t)
	for window, want := range map[string]struct {
		err  error
		text string
	}{
		"1":    {ErrUnhandledCUDA, "registering 64 bytes: ncclCommWindowRegister: ncclUnhandledCudaError (1): reg"},
		"none": {ErrNoWindow, "registering 64 bytes: NCCL made no window of the memory"},
	} {
		t.Setenv("FAKE_NCCL_WINDOW", window)
		together(t, l, 1, func(c *Comm, rank int) error {
			_, err := c.RegisterSymmetric(256, windowBytes)
			if !errors.Is(err, want.err) || !strings.HasPrefix(err.Error(), want.text) {
				t.Errorf("window %s: got %v", window, err)
			}
			return nil
		})
	}
}

// Ranks whose windows differ in size are told.
func TestWindowsOfDifferentSizes(t *testing.T) {
	together(t, open(t), 2, func(c *Comm, rank int) error {
		var pins runtime.Pinner
		defer pins.Unpin()
		memory := pinned(&pins, make([]byte, windowBytes))
		if _, err := c.RegisterSymmetric(memory, int64(8+8*rank)); !errors.Is(err, ErrInternal) {
			return fmt.Errorf("sizes that differ: %w", err)
		}
		return nil
	})
}
