package elastic

import (
	"errors"
	"net"
	"strings"
	"testing"

	"gpurun/rendezvous/transport"
	"gpurun/rendezvous/transport/certtest"
)

func TestRoundOverTLS(t *testing.T) {
	config := job(t, 2, 2)
	config.Token, config.TLS = "", certtest.New(t).Load(nil, hostOf(t, config.Endpoint))
	members := enterAll(t, config, 2)
	for _, r := range nextAll(t, members) {
		if r.Nodes != 2 {
			t.Errorf("%d nodes", r.Nodes)
		}
	}
}

// An agent that cannot come to trust the server says so at once; the others go on.
func TestAgentsWithoutTrustAreTurnedAway(t *testing.T) {
	config := job(t, 2, 2)
	config.TLS = certtest.New(t).Load(nil, hostOf(t, config.Endpoint))
	members := enterAll(t, config, 1)
	first := next(t, members[0])
	for _, tls := range []*transport.TLS{nil, certtest.New(t).Load(nil)} {
		intruder := config
		intruder.TLS = tls
		_, err := enter(t, intruder, 9).NextRound(testContext(t))
		if !errors.Is(err, transport.ErrTLS) {
			t.Errorf("got %v", err)
		}
	}
	second := next(t, enter(t, config, 1))
	first.get(t)
	second.get(t)
}

func TestServerOfAnotherNameIsNotTrusted(t *testing.T) {
	config := job(t, 1, 2)
	config.TLS = certtest.New(t).Load(nil, "node0.example")
	_, err := enter(t, config, 0).NextRound(testContext(t))
	if !errors.Is(err, transport.ErrTLS) || !strings.Contains(err.Error(), "is not for "+hostOf(t, config.Endpoint)) {
		t.Errorf("got %v", err)
	}
}

// With etcd the elected agent shows its own certificate.
func TestRoundOverTLSWithEtcd(t *testing.T) {
	t.Parallel()
	config, _ := etcdJob(t, 2, 2)
	a := certtest.New(t)
	members := make([]*Member, 2)
	for n := range members {
		config.TLS = a.Load(nil, hostOf(t, config.Endpoint))
		members[n] = enter(t, config, n)
	}
	nextAll(t, members)
}

func hostOf(t *testing.T, endpoint string) string {
	t.Helper()
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return host
}
