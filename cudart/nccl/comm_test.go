package nccl

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// Each version has its way of initializing, finalizing and explaining.
var eras = map[string]string{
	"by value":                    "-DVERSION=21003",
	"with messages, and finalize": "-DVERSION=21403",
	"scalable":                    "-DVERSION=22304",
	"with 8-bit floats":           "-DVERSION=22403",
	"with windows":                "-DVERSION=22703",
	"with alltoall":               "-DVERSION=22809",
}

func TestInitFailures(t *testing.T) {
	for name, flag := range eras {
		t.Run(name, func(t *testing.T) {
			l := open(t, flag)
			id, err := l.NewUniqueID()
			if err != nil {
				t.Fatal(err)
			}
			for i := range id {
				damaged := id
				damaged[i] ^= 1
				if _, err := l.Init(0, 1, damaged); !errors.Is(err, ErrInvalidArgument) {
					t.Fatalf("an id damaged in byte %d: %v", i, err)
				}
			}
			for _, ranks := range [][2]int{{-1, 2}, {2, 2}, {0, 0}} {
				if _, err := l.Init(ranks[0], ranks[1], id); err == nil || !strings.Contains(err.Error(), "there is no rank") {
					t.Errorf("rank %d of %d: %v", ranks[0], ranks[1], err)
				}
			}
		})
	}
}

func TestErrorsExplain(t *testing.T) {
	id := UniqueID{}
	_, err := open(t).Init(1, 3, id)
	want := "initializing rank 1 of 3: ncclCommInitRankScalable: ncclInvalidArgument (4): initializing: the unique id; " +
		"NCCL_DEBUG=INFO says more"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	// Before 2.13 there are only words for the code.
	_, err = open(t, "-DVERSION=21003").Init(1, 3, id)
	want = "initializing rank 1 of 3: ncclCommInitRank: ncclInvalidArgument (4): invalid argument; " +
		"NCCL_DEBUG=INFO says more"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestRefusedInitSaysWhatToDo(t *testing.T) {
	l := open(t)
	for code, want := range map[string]struct {
		code Result
		text string
	}{
		"1":  {ErrUnhandledCUDA, "ncclUnhandledCudaError (1): the test says so; NCCL_DEBUG=INFO says more"},
		"2":  {ErrSystem, "ncclSystemError (2): the test says so; often the network or /dev/shm"},
		"6":  {ErrRemote, "another rank failed or left"},
		"7":  {ErrInProgress, "unset NCCL_COMM_BLOCKING"},
		"77": {77, "ncclResult 77 (77)"},
	} {
		t.Setenv("FAKE_NCCL_INIT", code)
		_, err := l.Init(0, 1, UniqueID{})
		if !errors.Is(err, want.code) || !strings.Contains(err.Error(), want.text) {
			t.Errorf("init returns %s: got %v", code, err)
		}
	}
}

func TestMissingRank(t *testing.T) {
	t.Setenv("FAKE_WAIT_MS", "50")
	t.Setenv("TMPDIR", t.TempDir())
	l := open(t)
	id, err := l.NewUniqueID()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Init(0, 2, id); !errors.Is(err, ErrSystem) {
		t.Errorf("got %v", err)
	}
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range left {
		if strings.HasPrefix(file.Name(), "ranks-") {
			t.Errorf("%s is left behind", file.Name())
		}
	}
}

func TestCommLife(t *testing.T) {
	for name, flag := range eras {
		t.Run(name, func(t *testing.T) {
			l := open(t, flag)
			together(t, l, 2, func(c *Comm, rank int) error { return c.AsyncError() })
		})
	}
	t.Run("close and abort happen once", func(t *testing.T) {
		together(t, open(t), 1, func(c *Comm, rank int) error {
			return errors.Join(c.Abort(), c.Abort(), c.Close())
		})
	})
	t.Run("closed", func(t *testing.T) {
		together(t, open(t), 1, func(c *Comm, rank int) error {
			if err := c.Close(); err != nil {
				return err
			}
			if err := c.AllReduce(256, 256, 1, Float32, Sum, 0); !errors.Is(err, ErrInvalidArgument) {
				t.Errorf("a closed communicator: %v", err)
			}
			return nil
		})
	})
	t.Run("trouble in the background", func(t *testing.T) {
		l := open(t)
		together(t, l, 1, func(c *Comm, rank int) error {
			t.Setenv("FAKE_NCCL_ASYNC", "6")
			if err := c.AsyncError(); !errors.Is(err, ErrRemote) || !strings.Contains(err.Error(), "failed in the background") {
				t.Errorf("got %v", err)
			}
			t.Setenv("FAKE_NCCL_ASYNC", "7")
			return c.AsyncError()
		})
	})
}
