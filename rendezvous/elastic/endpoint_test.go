package elastic

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"gpurun/rendezvous/porttest"
)

func TestStaticNodesHaveTheRanksTheyName(t *testing.T) {
	config := job(t, 2, 2)
	config.Backend, config.LocalAddr = Static, "127.0.0.1"
	_, port, _ := net.SplitHostPort(porttest.Endpoint())
	members := make([]*Member, 2)
	for n, rank := range []int{1, 0} {
		config.NodeRank, config.MasterPort = rank, number(t, port)
		members[n] = enter(t, config, n)
	}
	rounds := nextAll(t, members)
	if rounds[0].GroupRank != 1 || rounds[1].GroupRank != 0 {
		t.Errorf("nodes 1 and 0 have become %d and %d", rounds[0].GroupRank, rounds[1].GroupRank)
	}
	if want := "127.0.0.1:" + port; rounds[0].Place.Master != want {
		t.Errorf("the master is at %s, want %s", rounds[0].Place.Master, want)
	}
}

// A port that is taken is no reason to fail.
func TestTheMastersPortIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	config := job(t, 1, 1)
	config.Backend, config.LocalAddr = Static, "127.0.0.1"
	config.MasterPort = taken.Addr().(*net.TCPAddr).Port
	if got := nextAll(t, []*Member{enter(t, config, 0)})[0].Place.Master; got == taken.Addr().String() {
		t.Errorf("the master is at %s, which is taken", got)
	}
}

func TestConfigurationsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"nobody", func(c *Config) { c.MinNodes = 0 }, "0:2 nodes: want 1 <= MIN <= MAX"},
		{"more than at most", func(c *Config) { c.MinNodes = 3 }, "3:2 nodes: want 1 <= MIN <= MAX"},
		{"static", func(c *Config) { c.Backend = Static }, "a static rendezvous has a fixed number"},
		{"restarts", func(c *Config) { c.MaxRestarts = -1 }, "at most -1 restarts"},
		{"backend", func(c *Config) { c.Backend = "zeus" }, `rendezvous backend "zeus": want c10d, static or etcd`},
		{"endpoint", func(c *Config) { c.Endpoint = "" }, "needs an endpoint"},
		{"no host", func(c *Config) { c.Endpoint = ":29400" }, "with the host by which all nodes reach it"},
		{"any port", func(c *Config) { c.Endpoint = "localhost:0" }, "port 0 is another one on every node"},
		{"no token", func(c *Config) { c.Endpoint, c.Token = "192.0.2.1:29400", "" }, "give all nodes the same token"},
		{"etcd", func(c *Config) { c.Backend, c.Endpoint = Etcd, "localhost:2379,," }, "want host:port, separated by commas"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := job(t, 1, 2)
			c.change(&config)
			_, err := Enter(testContext(t), config)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	config := job(t, 2, 2)
	config.Backend, config.Endpoint = Static, l.Addr().String()
	const want = "another process listens at that port; choose another port on all nodes"
	if _, err := Enter(testContext(t), config); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestWhoServes(t *testing.T) {
	for _, c := range []struct {
		endpoint string
		change   func(*Config)
		want     bool
	}{
		{"localhost", func(*Config) {}, true},
		{"127.0.0.1", func(*Config) {}, true},
		{"::1", func(*Config) {}, true},
		{"192.0.2.1", func(*Config) {}, false},
		{"192.0.2.1", func(c *Config) { c.Hosting = HostYes }, true},
		{"localhost", func(c *Config) { c.Hosting = HostNever }, false},
		{"192.0.2.1", func(c *Config) { c.Backend = Static }, true},
		{"localhost", func(c *Config) { c.Backend, c.NodeRank = Static, 1 }, false},
		{"Here", func(*Config) {}, true}, // by the host's own name, which nobody needs to look up
		{"elsewhere", func(*Config) {}, false},
	} {
		config := Config{Backend: C10d, Timeouts: Timeouts{Join: time.Minute}}
		c.change(&config)
		lookup := func(_ context.Context, host string) ([]string, error) {
			if host == "Here" {
				return nil, errors.New("it need not be known")
			}
			return []string{"192.0.2.1"}, nil
		}
		got, err := (&endpoint{host: "here", lookup: lookup}).isOurs(testContext(t), config, c.endpoint)
		if err != nil || got != c.want {
			t.Errorf("%s, %+v: got %v, %v, want %v", c.endpoint, config, got, err, c.want)
		}
	}
}

// The name of a host that is not up yet may not be known, for as long as nodes wait for each other.
func TestNamesAreLookedUpAgain(t *testing.T) {
	t.Parallel()
	unknown := &net.DNSError{Err: "no such host", Name: "later", IsNotFound: true}
	tries := 0
	e := &endpoint{lookup: func(context.Context, string) ([]string, error) {
		if tries++; tries == 1 {
			return nil, unknown
		}
		return []string{"127.0.0.1"}, nil
	}}
	config := Config{Backend: C10d, Logger: zap.NewNop(), Timeouts: Timeouts{Join: time.Minute}}
	if ours, err := e.isOurs(testContext(t), config, "later"); !ours || err != nil || tries != 2 {
		t.Errorf("after %d tries %v, %v", tries, ours, err)
	}
	e.lookup = func(context.Context, string) ([]string, error) { return nil, unknown }
	config.Timeouts.Join = time.Millisecond
	if _, err := e.isOurs(testContext(t), config, "later"); !errors.Is(err, unknown) ||
		!strings.Contains(err.Error(), "is_host=true") {
		t.Errorf("a name that is never known: %v", err)
	}
}

func TestSplitEndpoint(t *testing.T) {
	for endpoint, want := range map[string][2]string{
		"node0":       {"node0", "29400"},
		"node0:1234":  {"node0", "1234"},
		"[::1]":       {"::1", "29400"},
		"[::1]:1":     {"::1", "1"},
		"10.0.0.1:99": {"10.0.0.1", "99"},
	} {
		host, port, err := splitEndpoint(endpoint)
		if diff := cmp.Diff(want, [2]string{host, port}); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", endpoint, err, diff)
		}
	}
}

func TestTokens(t *testing.T) {
	config := job(t, 1, 1)
	enter(t, config, 0)
	for _, token := range []string{"", "Secret", "secret2"} {
		config.Token = token
		if _, err := enter(t, config, 1).NextRound(testContext(t)); !errors.Is(err, ErrToken) {
			t.Errorf("token %q: got %v, want %v", token, err, ErrToken)
		}
	}
}

func TestNodesOfAnotherJobAreRefused(t *testing.T) {
	config := job(t, 2, 2)
	enter(t, config, 0)
	config.RunID = "other"
	_, err := enter(t, config, 1).NextRound(testContext(t))
	end := new(End)
	if !errors.As(err, &end) || end.Kind != Refused || !strings.Contains(end.Reason, `this is job "test"`) {
		t.Errorf("got %v", err)
	}
}

// The master's port is open where the others see the node, by whichever protocol.
func TestNodesMeetAtAnyLoopbackAddress(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "127.0.0.2", "localhost", "::1", "::ffff:127.0.0.1"} {
		t.Run(host, func(t *testing.T) {
			l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
			if host == "::1" && errors.Is(err, syscall.EADDRNOTAVAIL) {
				t.Skip("this host has no IPv6")
			}
			if err != nil {
				t.Fatal(err)
			}
			_, port, err := net.SplitHostPort(l.Addr().String())
			if err := errors.Join(err, l.Close()); err != nil {
				t.Fatal(err)
			}
			config := job(t, 2, 2)
			config.Endpoint, config.Token = net.JoinHostPort(host, port), ""
			for _, r := range nextAll(t, enterAll(t, config, 2)) {
				if at, _, err := net.SplitHostPort(r.Place.Master); err != nil || !isLoopback(at) {
					t.Errorf("node %d got the master %s", r.GroupRank, r.Place.Master)
				}
			}
		})
	}
}

func TestNobodyServes(t *testing.T) {
	config := job(t, 2, 2)
	config.Hosting = HostNever
	config.Timeouts.Join = 1
	_, err := enter(t, config, 0).NextRound(testContext(t))
	if !errors.Is(err, ErrServerGone) ||
		!strings.Contains(err.Error(), "no rendezvous answers at "+config.Endpoint+" (dial tcp ") {
		t.Errorf("got %v", err)
	}
}
