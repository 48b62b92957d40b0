package rendezvous_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"gpurun/rendezvous"
)

// workerTarget in the environment makes the test binary a worker.
const workerTarget = "GPURUN_TEST_WORKER_TARGET"

func TestMain(m *testing.M) {
	if target := os.Getenv(workerTarget); target != "" {
		fmt.Fprintln(os.Stderr, workerMain(target))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// workerMain joins as the last of three ranks, says so, and waits for a key
// that never comes. It does not return before it is killed.
func workerMain(target string) error {
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	g, err := rendezvous.Join(ctx, target, member(2, 3), rendezvous.Options{})
	if err != nil {
		return err
	}
	fmt.Println("joined")
	return g.Store().Wait(ctx, "never")
}

func TestKilledProcessIsNoticed(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 3})
	worker := exec.CommandContext(testContext(t), os.Args[0])
	worker.Env = append(os.Environ(), workerTarget+"="+srv.Target())
	worker.Stderr = os.Stderr
	stdout, err := worker.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	defer worker.Wait()
	defer worker.Process.Kill()

	groups := make([]*rendezvous.Group, 2)
	err = onEach(2, func(rank int) (err error) {
		groups[rank], err = rendezvous.Join(testContext(t), srv.Target(), member(rank, 3), rendezvous.Options{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "joined\n" {
		t.Fatalf("the worker said %q, %v", line, err)
	}
	var waiting errgroup.Group
	pending := make([]error, len(groups))
	for rank, g := range groups {
		defer g.Close()
		waiting.Go(func() error {
			pending[rank] = g.Barrier(testContext(t), "ready")
			return nil
		})
	}
	killed := time.Now()
	if err := worker.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	_ = waiting.Wait()
	took := time.Since(killed)
	t.Logf("the others knew after %v", took)
	if took > soon {
		t.Errorf("it took more than %v", soon)
	}
	for rank := range groups {
		wantPeerLeft(t, pending[rank], 2, "connection lost")
	}
}
