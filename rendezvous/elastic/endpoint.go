package elastic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
)

// defaultPort is the one that torchrun's c10d backend uses.
const defaultPort = "29400"

// endpoint is a rendezvous at a fixed address. The agent that can bind it serves.
type endpoint struct {
	target string
	host   string // of this host
	server *server
	// lookup finds the addresses of a host.
	lookup func(ctx context.Context, host string) ([]string, error)
}

func newEndpoint(ctx context.Context, config Config) (*endpoint, error) {
	host, port, err := splitEndpoint(config.Endpoint)
	if err != nil {
		return nil, err
	}
	if !config.authenticated() && !isLoopback(host) {
		return nil, fmt.Errorf("the rendezvous at %s is beyond loopback: give all nodes the same token, or certificates",
			config.Endpoint)
	}
	e := &endpoint{target: net.JoinHostPort(host, port), host: config.hostName, lookup: net.DefaultResolver.LookupHost}
	l, err := e.listen(ctx, config, host, port)
	if err != nil || l == nil {
		return e, err
	}
	if port == "0" {
		e.target = l.Addr().String()
	}
	advertised := host
	if isLoopback(host) {
		advertised = ""
	}
	e.server, err = serve(config, l, advertised)
	return e, err
}

// splitEndpoint adds the default port where there is none.
func splitEndpoint(address string) (host, port string, err error) {
	if !strings.Contains(address, ":") || strings.HasSuffix(address, "]") {
		address += ":" + defaultPort
	}
	if host, port, err = net.SplitHostPort(address); err != nil {
		return "", "", fmt.Errorf("rendezvous endpoint: want host:port: %w", err)
	}
	if host == "" {
		return "", "", fmt.Errorf("rendezvous endpoint %q: want host:port, with the host by which all nodes reach it",
			address)
	}
	return host, port, nil
}

// listen opens the endpoint if it is this agent's to serve it, and otherwise
// returns nil: it is another host's, or another agent was first.
func (e *endpoint) listen(ctx context.Context, config Config, host, port string) (net.Listener, error) {
	ours, err := e.isOurs(ctx, config, host)
	if err != nil || !ours {
		return nil, err
	}
	at := net.JoinHostPort(host, port)
	if !isLoopback(host) && net.ParseIP(host) == nil {
		at = net.JoinHostPort("", port) // a host may know itself by another address than the others do
	}
	l, err := net.Listen("tcp", at)
	if errors.Is(err, syscall.EADDRINUSE) && config.Backend == C10d {
		config.Logger.Info("another process on this host listens at the rendezvous endpoint; "+
			"joining it as another agent of the job", zap.String("at", e.target))
		return nil, nil
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("serving the rendezvous at %s: another process listens at that port; "+
			"choose another port on all nodes: %w", e.target, err)
	}
	if err != nil {
		return nil, fmt.Errorf("serving the rendezvous at %s: %w", e.target, err)
	}
	return l, nil
}

// isOurs says whether the endpoint is on this host.
func (e *endpoint) isOurs(ctx context.Context, config Config, host string) (bool, error) {
	switch {
	case config.Backend == Static:
		return config.NodeRank == 0, nil
	case config.Hosting != HostAuto:
		return config.Hosting == HostYes, nil
	case isLoopback(host), strings.EqualFold(host, e.host):
		return true, nil
	}
	addresses, err := e.addresses(ctx, config, host)
	if err != nil {
		return false, err
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false, fmt.Errorf("listing this host's addresses: %w", err)
	}
	for _, address := range addresses {
		if isLoopback(address) || contains(own, address) {
			return true, nil
		}
	}
	return false, nil
}

// lookUpAgain is how long a lookup that has failed rests.
const lookUpAgain = time.Second

// addresses are those of the endpoint's host, whose name may not be known before that host is up.
func (e *endpoint) addresses(ctx context.Context, config Config, host string) ([]string, error) {
	late, cancel := context.WithTimeout(ctx, config.Timeouts.Join)
	defer cancel()
	for warned := false; ; warned = true {
		addresses, err := e.lookup(late, host)
		if err == nil {
			return addresses, nil
		}
		if !warned {
			config.Logger.Warn("the rendezvous endpoint's host is not known yet, trying again: " + err.Error())
		}
		select {
		case <-late.Done():
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, fmt.Errorf("looking up the rendezvous endpoint's host for %v: check --rdzv-endpoint; "+
				"--rdzv-conf is_host=true says that it is this host: %w", config.Timeouts.Join, err)
		case <-time.After(lookUpAgain):
		}
	}
}

func contains(own []net.Addr, address string) bool {
	for _, a := range own {
		if ipnet, ok := a.(*net.IPNet); ok && ipnet.IP.Equal(net.ParseIP(address)) {
			return true
		}
	}
	return false
}

// isLoopback says whether a name means the own host on every host.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

func (e *endpoint) find(context.Context) (string, error) { return e.target, nil }

func (e *endpoint) waits() bool { return true }

func (e *endpoint) serves() bool { return e.server != nil }

func (e *endpoint) over() <-chan struct{} {
	if e.server == nil {
		return nil
	}
	return e.server.coordinator.over
}

func (e *endpoint) lost(err error) error {
	if errors.Is(err, ErrServerGone) {
		return fmt.Errorf("%w; the job is over, because no other agent can serve it at %s; "+
			"with --rdzv-backend etcd another agent would take over",
			err, e.target)
	}
	return err
}

func (e *endpoint) refused() string {
	if e.server == nil {
		return ""
	}
	return e.server.refused.String()
}

func (e *endpoint) close(reason string) error {
	if e.server == nil {
		return nil
	}
	server := e.server
	e.server = nil
	return server.close(fmt.Sprintf("the agent on %s, which served the rendezvous, has left: %s", e.host, reason))
}
