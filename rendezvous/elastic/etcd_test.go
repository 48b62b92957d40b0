package elastic

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpurun/rendezvous/porttest"
	"gpurun/rendezvous/transport/certtest"
)

// startEtcd starts an etcd with an empty store.
func startEtcd(t *testing.T) (endpoint string, kill func()) {
	t.Helper()
	endpoint = porttest.Endpoint()
	return endpoint, startEtcdAt(t, "http://"+endpoint, nil)
}

// startEtcdAt starts one at a URL, with further flags; security is for calls to it.
func startEtcdAt(t *testing.T, url string, security *tls.Config, flags ...string) (kill func()) {
	t.Helper()
	path, err := exec.LookPath("etcd")
	if err != nil {
		if os.Getenv("GPURUN_REQUIRE_ETCD") == "1" {
			t.Fatal("there is no etcd; install etcd-server")
		}
		t.Skip("there is no etcd; install etcd-server to test with one")
	}
	peers := porttest.Endpoint()
	cmd := exec.Command(path, append(flags, "--data-dir", t.TempDir(), "--log-level", "error",
		"--listen-client-urls", url, "--advertise-client-urls", url,
		"--listen-peer-urls", "http://"+peers, "--initial-advertise-peer-urls", "http://"+peers,
		"--initial-cluster", "default=http://"+peers)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: security}
	for begin := time.Now(); time.Since(begin) < testTimeout; time.Sleep(20 * time.Millisecond) {
		response, err := (&http.Client{Transport: transport, Timeout: time.Second}).Get(url + "/health")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return func() { _ = cmd.Process.Kill() }
			}
		}
	}
	t.Fatal("etcd does not come up")
	return nil
}

func etcdJob(t *testing.T, minNodes, maxNodes int) (config Config, kill func()) {
	config = job(t, minNodes, maxNodes)
	config.Backend = Etcd
	config.Endpoint, kill = startEtcd(t)
	config.Timeouts.KeepAliveInterval, config.Timeouts.KeepAliveTries = time.Second, 2
	return config, kill
}

func TestJobSurvivesAnyOneAgentWithEtcd(t *testing.T) {
	t.Parallel()
	config, _ := etcdJob(t, 2, 3)
	agents := startAll(t, config, 3)
	serving, others := split(t, agents)
	for n, victim := range []*agentProcess{serving, others[0]} {
		victim.kill()
		agents = without(agents, victim)
		for _, a := range agents {
			a.await("stops")
			a.await("round of 2 nodes")
		}
		agents = append(agents, startAgent(t, config, 3+n))
		for _, a := range agents {
			a.await("round of 3 nodes")
		}
	}
	for _, a := range agents {
		if err := a.finish(); err != nil {
			t.Error(err)
		}
	}
	for _, a := range agents {
		a.await("finished")
	}
	wantClosed := startAgent(t, config, 9)
	wantClosed.await("over: joining the rendezvous at " + config.Endpoint + ": the rendezvous is closed")
}

func TestServerHandsOverWhenItLeavesWithEtcd(t *testing.T) {
	t.Parallel()
	config, _ := etcdJob(t, 3, 3)
	config.Timeouts.KeepAliveInterval = time.Hour // nothing here waits for a lease to expire
	members := enterAll(t, config, 3)
	rounds := nextAll(t, members)
	serving := -1
	for n, m := range members {
		if m.backend.serves() {
			serving = n
		}
	}
	if err := members[serving].Close("the host is needed"); err != nil {
		t.Fatal(err)
	}
	rest := []*Member{enter(t, config, 3)}
	for n, r := range rounds {
		if n != serving {
			why := over(t, r)
			wantRestart(t, why, false, why.(*Restart).Reason)
			rest = append(rest, members[n])
		}
		if r.Master() != nil {
			r.Master().Close()
		}
	}
	for _, r := range nextAll(t, rest) {
		if r.Number <= rounds[0].Number {
			t.Errorf("round %d follows round %d", r.Number, rounds[0].Number)
		}
	}
}

// While etcd is gone, a round goes on, and a newcomer waits. Here etcd comes back without its store, so that the lease
// is gone as well.
func TestRoundGoesOnWithoutEtcd(t *testing.T) {
	t.Parallel()
	config, kill := etcdJob(t, 2, 3)
	members := enterAll(t, config, 2)
	rounds := nextAll(t, members)
	kill()
	time.Sleep(2 * config.Timeouts.keepAlive())
	for _, r := range rounds {
		if r.ctx.Err() != nil {
			t.Fatalf("the round has ended: %v", context.Cause(r.ctx))
		}
	}
	newcomer := next(t, enter(t, config, 2))
	startEtcdAt(t, "http://"+config.Endpoint, nil)
	var all []*pendingRound
	for i, r := range rounds {
		wantRestart(t, over(t, r), false, "host0002 has joined")
		if r.Master() != nil {
			r.Master().Close()
		}
		all = append(all, next(t, members[i]))
	}
	for _, p := range append(all, newcomer) {
		if r := p.get(t); r.Nodes != 3 {
			t.Errorf("%d nodes", r.Nodes)
		}
	}
}

// An etcd may want certificates of its own.
func TestEtcdBehindTLS(t *testing.T) {
	t.Parallel()
	config := job(t, 1, 1)
	config.Backend = Etcd
	files := certtest.New(t).Node(nil, hostOf(t, config.Endpoint))
	text, err := os.ReadFile(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	own, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	config.EtcdTLS = &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}}
	startEtcdAt(t, "https://"+config.Endpoint, config.EtcdTLS,
		"--client-cert-auth", "--cert-file", files.Cert, "--key-file", files.Key, "--trusted-ca-file", files.CA)
	nextAll(t, enterAll(t, config, 1))
	config.EtcdTLS, config.Timeouts.Join = &tls.Config{RootCAs: roots}, time.Second
	_, err = enter(t, config, 1).NextRound(testContext(t))
	if err == nil || !strings.Contains(err.Error(), "remote error: tls: ") {
		t.Errorf("without a certificate: %v", err)
	}
}

func without(agents []*agentProcess, gone *agentProcess) []*agentProcess {
	return slices.DeleteFunc(slices.Clone(agents), func(a *agentProcess) bool { return a == gone })
}
