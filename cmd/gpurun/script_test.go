package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gpurun/cudart/driver"
	"gpurun/rendezvous/porttest"
	"gpurun/rendezvous/transport/certtest"
)

// TestMain lets the scripts run this test binary as gpurun: testscript puts a
// copy with that name into PATH, and gpurun executes itself by that path. The same
// program goes by the name torchrun, too.
func TestMain(m *testing.M) {
	// Scripts wait more than they compute: this many keep the cores busy.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)+1)); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"gpurun": main, "torchrun": main})
}

// TestScripts runs the command line's stories, real processes and all. Beyond
// testscript's own commands they have
//
//	exits CODE COMMAND...   runs the command, which must exit with the code
//	within TIME             the exits before took no longer than this
//	stand-ins               puts stand-ins for CUDA, NCCL, NVSHMEM and cuBLAS, on two GPUs
//	                        that run no kernels, where the loader finds them
//	nvml-stand-in           puts one for NVML, with two GPUs, whose errors are the lines of the file faults
//	etcd                    starts an etcd, at ETCD
//	connector               starts a stand-in for NVSentinel's connector at connector.sock; connector.log has its events
//	controller              starts a stand-in for Kubeflow Trainer's, and sets its variables; controller.log has reports
//
// and the conditions gpu, cc for a C compiler, etcd, torch for a PyTorch in /usr/bin/python3, and exhaustive for
// GPURUN_EXHAUSTIVE=1, as in CI. The variable FREEPORT has a port that nobody listens on; CERTS and
// STRANGER are folders with certificates, SCRIPTS is the folder scripts, EXAMPLES that of kernel files.
func TestScripts(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Fatal("SIGHUP is ignored, as under nohup: scripts would wait for what it ends; use setsid instead")
	}
	t.Parallel()
	nodes, strangers := certtest.New(t), certtest.New(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "within": tookAtMost, "stand-ins": newStandIns(t.TempDir()).use, "etcd": startEtcd,
			"connector": startConnector, "controller": startController, "nvml-stand-in": nvmlStandIn(t.TempDir()),
		},
		Condition:           condition,
		RequireExplicitExec: true,
		Deadline:            time.Now().Add(5 * time.Minute),
		Setup: func(env *testscript.Env) error {
			env.Values[took] = new(time.Duration)
			runBriefly(env)
			setCertificates(env, nodes, strangers)
			for name, folder := range map[string]string{"SCRIPTS": "scripts", "EXAMPLES": "kernels/examples"} {
				absolute, err := filepath.Abs(filepath.Join("../..", folder))
				if err != nil {
					return err
				}
				env.Setenv(name, absolute)
			}
			port, err := porttest.Free()
			env.Setenv("FREEPORT", strconv.Itoa(port))
			return err
		},
	})
}

// runBriefly saves processor time. The processes of a script collect garbage only when they have a lot: they live
// shortly, and would spend a fifth of their time on it. Unless the run is exhaustive, a case makes two calls in a row
// and not four, where the script does not say how many.
func runBriefly(env *testscript.Env) {
	env.Setenv("GOGC", "off")
	env.Setenv("GOMEMLIMIT", "256MiB")
	if os.Getenv("GPURUN_EXHAUSTIVE") != "1" {
		env.Setenv("GPURUN_WARMUP_ITERS", "0")
		env.Setenv("GPURUN_ITERS", "2")
	}
}

func condition(name string) (bool, error) {
	switch name {
	case "exhaustive":
		return os.Getenv("GPURUN_EXHAUSTIVE") == "1", nil
	case "gpu":
		_, err := driver.New().Devices()
		return err == nil, nil
	case "etcd":
		return hasEtcd()
	case "cc":
		_, err := exec.LookPath("cc")
		if err != nil && os.Getenv("GPURUN_REQUIRE_CC") == "1" {
			return false, fmt.Errorf("GPURUN_REQUIRE_CC=1, but: %w", err)
		}
		return err == nil, nil
	case "torch":
		// To import it would take a second.
		const find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
		err := exec.Command("/usr/bin/python3", "-c", find).Run()
		if err != nil && os.Getenv("GPURUN_REQUIRE_TORCH") == "1" {
			return false, fmt.Errorf("GPURUN_REQUIRE_TORCH=1, but looking for it: %w", err)
		}
		return err == nil, nil
	}
	return false, fmt.Errorf("there is no condition %q", name)
}

// took is the key under which a script keeps how long its last exits took.
const took = "took"

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	begun := time.Now()
	err = ts.Exec(args[1], args[2:]...)
	*ts.Value(took).(*time.Duration) = time.Since(begun)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("running %s: %v", args[1], err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func tookAtMost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: within TIME")
	}
	most, err := time.ParseDuration(args[0])
	ts.Check(err)
	if d := *ts.Value(took).(*time.Duration); d > most {
		ts.Fatalf("it took %v, want at most %v", d, most)
	}
}
