package sim

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gpurun/cudart"
)

// peerVariable makes the test binary play the second rank.
const peerVariable = "GPURUN_SIM_TEST_PEER"

const pingPongRounds = 300

// runPeer imports the memory behind descriptor 3 and plays rank 1.
func runPeer() int {
	d, err := New(1, Options{}).Open(0)
	if err == nil {
		var ptr cudart.DevicePtr
		if ptr, err = d.(*Device).ImportFD(os.NewFile(3, "peer memory")); err == nil {
			err = playPingPong(d, ptr, 1)
		}
		if closing := d.Close(); err == nil {
			err = closing
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func playPingPong(d cudart.Device, ptr cudart.DevicePtr, rank uint64) error {
	text, err := os.ReadFile("exec/testdata/kernels.ptx")
	if err != nil {
		return err
	}
	m, err := d.LoadModule("kernels.ptx", text)
	if err != nil {
		return err
	}
	k, err := m.Kernel("ping_pong")
	if err != nil {
		return err
	}
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1},
		params(uint64(ptr), uint64(ptr)+8, rank|pingPongRounds<<32)); err != nil {
		return err
	}
	return s.Download(make([]byte, 8), ptr)
}

func TestTwoProcessesShareMemory(t *testing.T) {
	d := openDevice(t)
	ptr := mustMalloc(t, d, 1000)
	f, err := d.ExportFD(ptr)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	peer := exec.Command(os.Args[0])
	peer.Env = append(os.Environ(), peerVariable+"=1")
	peer.ExtraFiles = []*os.File{f}
	var stderr strings.Builder
	peer.Stderr = &stderr
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	if err := playPingPong(d, ptr, 0); err != nil {
		t.Error(err)
	}
	if err := peer.Wait(); err != nil {
		t.Fatalf("peer: %v: %s", err, stderr.String())
	}
	got := make([]byte, 24)
	if err := mustStream(t, d).Download(got, ptr); err != nil {
		t.Fatal(err)
	}
	// Both ranks added every round's number, handing the total over by the flag,
	// and then counted the rounds with atomics, in any order.
	if total := binary.LittleEndian.Uint64(got[8:]); total != pingPongRounds*(pingPongRounds-1) {
		t.Errorf("total is %d, want %d", total, pingPongRounds*(pingPongRounds-1))
	}
	if count := binary.LittleEndian.Uint64(got[16:]); count != 2*pingPongRounds {
		t.Errorf("count is %d, want %d", count, 2*pingPongRounds)
	}
}

func TestImportRefusesWhatIsNotDeviceMemory(t *testing.T) {
	d := openDevice(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	file, err := os.CreateTemp(t.TempDir(), "memory")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, f := range map[string]*os.File{"pipe": r, "file": file, "unsealed memfd": unsealed(t)} {
		if _, err := d.ImportFD(f); !isResult(err, cudart.ErrInvalidHandle) {
			t.Errorf("%s: got %v, want CUDA_ERROR_INVALID_HANDLE", name, err)
		}
	}
	closed := unsealed(t)
	closed.Close()
	if _, err := d.ImportFD(closed); err == nil {
		t.Error("a closed descriptor was imported")
	}
}

func TestExportRefusesWhatCannotBeShared(t *testing.T) {
	d := openDevice(t)
	ptr := mustMalloc(t, d, 512)
	host, err := d.MallocHost(8)
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.ExportFD(ptr)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	imported, err := d.ImportFD(f)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]cudart.DevicePtr{
		"null": 0, "inside": ptr + 256, "host memory": host.DevicePtr(), "imported": imported,
	} {
		if f, err := d.ExportFD(p); !isResult(err, cudart.ErrInvalidValue) {
			t.Errorf("%s: got %v, want CUDA_ERROR_INVALID_VALUE", name, err)
			f.Close()
		}
	}
}
