package agent

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/output"
)

// A worker that writes to a file itself alone sees that the disk is full. The agent names the file.
func TestFullDiskIsNamed(t *testing.T) {
	folder := t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no file system to fill: %v", err)
	}
	defer func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	spec, _, _ := scripted(t, 1)
	spec.Argv = []string{"/bin/sh", "-c", "head -c 100000 /dev/zero"}
	name := filepath.Join(folder, "stdout.log")
	spec.Output = func(int) (stdout, stderr output.Destination, err error) {
		stdout = output.Destination{Hidden: true}
		stdout.File, err = os.Create(name)
		return stdout, stderr, err
	}
	o, err := Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if o.First == nil || o.First.FullDisk != name {
		t.Errorf("%+v", o.First)
	}
}
