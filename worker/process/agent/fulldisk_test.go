package agent

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

	"gpurun/worker/process/output"
)

// A worker that does not check its writes ends well. The agent warns that its output is incomplete.
func TestFullDiskThatAWorkerIgnoresIsNamed(t *testing.T) {
	spec, name := onSmallDisk(t, "head -c 100000 /dev/zero 2>&-; exit 0")
	log, entries := observer.New(zap.WarnLevel)
	spec.Logger = zap.New(log)
	o, err := Run(t.Context(), spec)
	if err != nil || o.First != nil {
		t.Fatalf("%v, %+v", err, o)
	}
	if got := entries.FilterField(zap.String("file", name)).Len(); got != 1 {
		t.Errorf("%d warnings: %v", got, entries.All())
	}
}

// A worker that writes to a file itself alone sees that the disk is full. The agent names the file.
func TestFullDiskIsNamed(t *testing.T) {
	spec, name := onSmallDisk(t, "head -c 100000 /dev/zero")
	o, err := Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if o.First == nil || o.First.FullDisk != name {
		t.Errorf("%+v", o.First)
	}
}

// onSmallDisk is a worker that runs a script, whose standard output goes to the named file on a disk of 64 KiB.
func onSmallDisk(t *testing.T, script string) (Spec, string) {
	t.Helper()
	folder := t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no file system to fill: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	spec, _, _ := scripted(t, 1)
	spec.Argv = []string{"/bin/sh", "-c", script}
	name := filepath.Join(folder, "stdout.log")
	spec.Output = func(int) (stdout, stderr output.Destination, err error) {
		stdout = output.Destination{Hidden: true}
		stdout.File, err = os.Create(name)
		return stdout, stderr, err
	}
	return spec, name
}
