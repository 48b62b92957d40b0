package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gpurun/rendezvous/porttest"
)

// hasEtcd reports whether there is an etcd.
func hasEtcd() (bool, error) {
	_, err := exec.LookPath("etcd")
	if err != nil && os.Getenv("GPURUN_REQUIRE_ETCD") == "1" {
		return false, fmt.Errorf("GPURUN_REQUIRE_ETCD=1, but: %w", err)
	}
	return err == nil, nil
}

// startEtcd starts an etcd with an empty store, which ends with the script, and sets
// ETCD to where it listens.
func startEtcd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: etcd")
	}
	clients, peers := porttest.Endpoint(), porttest.Endpoint()
	cmd := etcdCommand(ts.MkAbs("etcd"), clients, peers)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	ts.Check(answers("http://" + clients + "/health"))
	ts.Setenv("ETCD", clients)
}

// etcdCommand is an etcd with the data of a folder.
func etcdCommand(folder, clients, peers string) *exec.Cmd {
	cmd := exec.Command("etcd", "--data-dir", folder, "--log-level", "error",
		"--listen-client-urls", "http://"+clients, "--advertise-client-urls", "http://"+clients,
		"--listen-peer-urls", "http://"+peers, "--initial-advertise-peer-urls", "http://"+peers,
		"--initial-cluster", "default=http://"+peers)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// answers waits until a server says that it is well.
func answers(url string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	last := errors.New("nobody has asked")
	for begun := time.Now(); time.Since(begun) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		response, err := client.Get(url)
		if last = err; err != nil {
			continue
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		last = errors.New(response.Status)
	}
	return fmt.Errorf("waiting for %s: %w", url, last)
}
