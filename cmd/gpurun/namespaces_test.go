package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gpurun/rendezvous/transport/certtest"
)

// insideVariable tells a test binary that it runs in namespaces of its own.
const insideVariable = "GPURUN_TEST_INSIDE_NAMESPACES"

// TestNodesInNamespaces runs stories of several nodes, each in a network namespace,
// which a bridge joins. For that, the test runs itself again in new user, network and
// mount namespaces: no packet leaves them, and they are gone with their last process.
// Where they are not allowed, the same agents meet over loopback, in the script
// torchrun_nodes.
func TestNodesInNamespaces(t *testing.T) {
	if os.Getenv(insideVariable) != "" {
		runInNamespaces(t)
		return
	}
	t.Parallel()
	flags, err := allowedNamespaces(t)
	if err != nil {
		t.Skipf("there are no network namespaces to test in, only loopback: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inside := isolated(exec.Command(self, "-test.run=^TestNodesInNamespaces$", "-test.v", "-test.timeout=4m"), flags)
	inside.Env = append(os.Environ(), insideVariable+"=1")
	if out, err := inside.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// allowedNamespaces returns the flags of clone by which a process gets namespaces in
// which it can make what the scripts need.
func allowedNamespaces(t *testing.T) (uintptr, error) {
	t.Helper()
	const probe = ownRun + `ip netns add probe
		ip link add type bridge
		ip link add port type veth peer name eth0 netns probe
		ip netns exec probe unshare --uts ip link set lo up`
	var errs []error
	for _, flags := range []uintptr{
		syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, // root may where users may not
	} {
		out, err := isolated(exec.Command("sh", "-c", probe), flags).CombinedOutput()
		if err == nil {
			return flags, nil
		}
		errs = append(errs, fmt.Errorf("%w %s", err, strings.TrimSpace(string(out))))
	}
	return 0, errors.Join(errs...)
}

// isolated lets a command begin in new namespaces, as root there.
func isolated(cmd *exec.Cmd, flags uintptr) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	if flags&syscall.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return cmd
}

// runInNamespaces runs the scripts. Node N is node0 to node4 of `ip netns`, has
// the address 192.0.2.10+N, and hangs on the bridge by the link portN.
func runInNamespaces(t *testing.T) {
	if out, err := exec.Command("sh", "-c", network).CombinedOutput(); err != nil {
		t.Fatalf("making the network: %v\n%s", err, out)
	}
	nodes, strangers := certtest.New(t), certtest.New(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "namespaces"),
		RequireExplicitExec: true,
		Deadline:            time.Now().Add(3 * time.Minute),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"stand-ins": newStandIns(t.TempDir()).use,
		},
		Condition: condition,
		Setup: func(env *testscript.Env) error {
			setCertificates(env, nodes, strangers)
			return nil
		},
	})
}

// ownRun begins a script with a /run of its own, where `ip netns` keeps its names.
const ownRun = `set -e
	mount --make-rprivate /
	mount -t tmpfs tmpfs /run
	`

const network = ownRun + `
	ip link add bridge0 type bridge
	ip link set bridge0 up
	for n in 0 1 2 3 4; do
		ip netns add node$n
		ip link add port$n type veth peer name eth0 netns node$n
		ip link set port$n master bridge0 up
		ip -n node$n address add 192.0.2.1$n/24 dev eth0
		ip -n node$n link set lo up
		ip -n node$n link set eth0 up
	done`
