package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process in a call that the kernel does not interrupt does not die of SIGKILL, as one
// that a driver or a dead file server holds. The run ends all the same, and says so.
func TestAWorkerThatTheKernelHoldsDoesNotKeepTheRun(t *testing.T) {
	t.Parallel()
	held := holdingFiles(t)
	g := startGpurun(t, 2, fmt.Sprintf(`case $RANK in
		0) exec stat %s/file ;;
		1) until test -e %s; do sleep 0.02; done; exit 5 ;;
	esac`, held.folder, held.asked))
	g.wait(t)
	if text := g.stderr.String(); !strings.Contains(text, "rank 0") || !strings.Contains(text, "did not die of SIGKILL") {
		t.Errorf("stderr: %q", text)
	}
	left := g.alive(t)
	if len(left) != 1 {
		t.Errorf("processes %v are left, want the one that is held", left)
	}
	held.release(t)
	g.leavesNothing(t)
}

// heldFiles is a file system that never answers.
type heldFiles struct {
	folder string
	asked  string // a file that is there once somebody waits for an answer
	device *os.File
	done   chan error
}

// Of the protocol of FUSE, see linux/fuse.h.
const (
	fuseLookup   = 1
	fuseInit     = 26
	fuseInHeader = 40 // bytes
)

// holdingFiles mounts one. Its server reads requests, after which the kernel waits for
// the answer whatever signal comes.
func holdingFiles(t *testing.T) *heldFiles {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0) // os.Open would poll it, too early
	if err != nil {
		t.Skipf("no file system can be made here that holds a process: opening /dev/fuse: %v", err)
	}
	h := &heldFiles{folder: t.TempDir(), asked: filepath.Join(t.TempDir(), "asked"), done: make(chan error, 1)}
	h.device = os.NewFile(uintptr(fd), "/dev/fuse")
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd)
	if err := unix.Mount("held", h.folder, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		h.device.Close()
		t.Skipf("no file system can be made here that holds a process: mounting it: %v", err)
	}
	t.Cleanup(func() { h.release(t) })
	go func() { h.done <- h.serve() }()
	return h
}

// serve answers nothing but the greeting.
func (h *heldFiles) serve() error {
	request := make([]byte, 1<<17)
	for {
		n, err := h.device.Read(request)
		switch {
		case errors.Is(err, unix.ENODEV): // unmounted
			return nil
		case err != nil:
			return err
		case n < fuseInHeader:
			return fmt.Errorf("a request of %d bytes", n)
		}
		switch binary.NativeEndian.Uint32(request[4:]) {
		case fuseInit:
			err = h.greet(binary.NativeEndian.Uint64(request[8:]))
		case fuseLookup:
			err = os.WriteFile(h.asked, nil, 0o600)
		}
		if err != nil {
			return err
		}
	}
}

func (h *heldFiles) greet(request uint64) error {
	const length, major, minor, maxWrite = 16 + 24, 7, 12, 4096
	answer := binary.NativeEndian.AppendUint32(nil, length)
	answer = binary.NativeEndian.AppendUint32(answer, 0) // no error
	answer = binary.NativeEndian.AppendUint64(answer, request)
	for _, word := range []uint32{major, minor, 0, 0, 0, maxWrite} {
		answer = binary.NativeEndian.AppendUint32(answer, word)
	}
	_, err := h.device.Write(answer)
	return err
}

// release lets go of whoever waits, once.
func (h *heldFiles) release(t *testing.T) {
	t.Helper()
	if h.device == nil {
		return
	}
	if err := unix.Unmount(h.folder, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
		t.Errorf("unmounting: %v", err)
	}
	select {
	case err := <-h.done:
		if err != nil {
			t.Errorf("serving: %v", err)
		}
	case <-time.After(timeout):
		t.Error("the file system's server does not end")
	}
	if err := h.device.Close(); err != nil {
		t.Error(err)
	}
	h.device = nil
}
