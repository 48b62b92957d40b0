package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"gpurun/cmd/gpurun/faults"
)

// Variables that say how much of the fault matrix runs, and where its page goes.
const (
	faultsVariable = "GPURUN_FAULTS"      // a regular expression on cells; "." is the whole matrix
	pageVariable   = "GPURUN_FAULTS_PAGE" // the page that is written; the whole matrix must run
)

// One cell in so many runs, by a hash of its name.
const (
	fewCells  = 40
	manyCells = 10 // with GPURUN_EXHAUSTIVE=1
)

// TestFaultMatrix makes jobs go wrong, and looks at how they end. It runs itself again in new namespaces, as
// TestNodesInNamespaces does. Where they are not allowed, cells that need them do not run, and say so.
func TestFaultMatrix(t *testing.T) {
	if os.Getenv(insideVariable) != "" {
		runFaults(t, true)
		return
	}
	flags, err := allowedNamespaces(t)
	if err != nil {
		t.Logf("there are no namespaces to test in: %v", err)
		runFaults(t, false)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inside := isolated(exec.Command(self, "-test.run=^TestFaultMatrix$", "-test.v", "-test.timeout=30m"), flags)
	inside.Env = append(os.Environ(), insideVariable+"=1")
	out, err := inside.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
}

// chosenFaults are the cells to run.
func chosenFaults(t *testing.T) (all []faults.Cell) {
	pattern, err := regexp.Compile(os.Getenv(faultsVariable))
	if err != nil {
		t.Fatal(err)
	}
	one := uint32(fewCells)
	switch {
	case pattern.String() != "":
		one = 1
	case os.Getenv("GPURUN_EXHAUSTIVE") == "1":
		one = manyCells
	}
	for _, c := range faults.Cells() {
		if _, means := faults.Expected(c); means && c.Chosen(one) && pattern.MatchString(c.String()) {
			all = append(all, c)
		}
	}
	return all
}

func runFaults(t *testing.T, private bool) {
	room := faultRoom(t, private)
	var mu sync.Mutex
	outcomes := map[faults.Cell]faults.Outcome{}
	t.Run("cells", func(t *testing.T) {
		for _, c := range chosenFaults(t) {
			t.Run(c.String(), func(t *testing.T) {
				if !c.Alone() {
					t.Parallel()
				}
				o, err := room.Run(c)
				if err != nil {
					t.Fatal(err)
				}
				want, _ := faults.Expected(c)
				if wrong := want.Wrong(o); o.NotRun == "" && len(wrong) > 0 {
					t.Errorf("wrong are %s: %+v, want %+v", strings.Join(wrong, ", "), o, want)
				}
				mu.Lock()
				defer mu.Unlock()
				outcomes[c] = o
			})
		}
	})
	t.Log("\n" + faults.Table(outcomes))
	if page := os.Getenv(pageVariable); page != "" && !t.Failed() {
		if err := faults.WritePage(page, outcomes); err != nil {
			t.Error(err)
		}
	}
}

// faultRoom makes the room of the cells: a copy of this test binary by the name gpurun, a /dev/shm and a network.
func faultRoom(t *testing.T, private bool) *faults.Room {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	room := &faults.Room{Folder: t.TempDir(), Private: private, Network: private}
	room.Gpurun = filepath.Join(room.Folder, "gpurun")
	if err := os.Link(self, room.Gpurun); err != nil { // on another file system
		copied, err := os.ReadFile(self)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(room.Gpurun, copied, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if etcd, err := hasEtcd(); err != nil {
		t.Fatal(err)
	} else if etcd {
		room.Etcd = faultEtcd
	}
	if hasCC, err := condition("cc"); err != nil {
		t.Fatal(err)
	} else if hasCC {
		libraries := newStandIns(t.TempDir())
		room.StandIns = func() (string, error) { return libraries.folder, libraries.compile() }
	}
	if private {
		const prepare = network + `
			ip link set lo up
			mount -t tmpfs none /dev/shm`
		if out, err := exec.Command("sh", "-c", prepare).CombinedOutput(); err != nil {
			t.Fatalf("making the network: %v\n%s", err, out)
		}
	}
	return room
}

// faultEtcd starts an etcd, which answers when this returns.
func faultEtcd(folder, clients, peers string) (*exec.Cmd, error) {
	cmd := etcdCommand(folder, clients, peers)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return cmd, answers("http://" + clients + "/health")
}

// Each cell is expected to end somehow, or means nothing for a reason, and not both.
func TestFaultMatrixHasNoHole(t *testing.T) {
	for _, c := range faults.Cells() {
		_, means := faults.Expected(c)
		if reason := faults.Meaningless(c); means == (reason != "") {
			t.Errorf("%v: expected %v, and means nothing because %q", c, means, reason)
		}
	}
}
