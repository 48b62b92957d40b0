package nodes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"gpurun/rendezvous"
)

// serve opens the nodes' rendezvous and returns its address.
func (n *Nodes) serve(ctx context.Context) (target string, err error) {
	ip, err := localAddress(ctx, n.config.Addr)
	if err != nil {
		return "", err
	}
	n.meeting, err = rendezvous.Serve(rendezvous.ServerConfig{
		WorldSize: n.config.Count, Listen: net.JoinHostPort(ip, strconv.Itoa(n.config.Port)), Token: n.config.Token,
		TLS:         n.config.TLS,
		JoinTimeout: n.config.JoinTimeout, Logger: n.config.Logger,
	})
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "", fmt.Errorf("node 0 is to serve at %s, which is no address of this machine: --master-addr is node 0's "+
			"own, on all nodes: %w", n.config.Addr, err)
	case errors.Is(err, syscall.EADDRINUSE):
		return "", fmt.Errorf("port %d is taken: choose another --master-port, on all nodes: %w", n.config.Port, err)
	case err != nil:
		return "", err
	}
	return n.meeting.Target(), nil
}

// serveRanks opens the ranks' rendezvous, on the same address and the next port, or on
// a free port if that one is taken. It returns the endpoint for the other nodes.
func (n *Nodes) serveRanks(world int) (theirs endpoint, err error) {
	ip, _, err := net.SplitHostPort(n.meeting.Target())
	if err != nil {
		return endpoint{}, fmt.Errorf("opening the ranks' rendezvous: %w", err)
	}
	secret := rand.Text()
	for _, port := range []int{(n.config.Port + 1) % (1 << 16), 0} { // 0 is any
		n.ranks, err = rendezvous.Serve(rendezvous.ServerConfig{
			WorldSize: world, Listen: net.JoinHostPort(ip, strconv.Itoa(port)), Token: secret, TLS: n.config.TLS,
			JoinTimeout: n.config.Timeout, Logger: n.config.Logger,
		})
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	if err != nil {
		return endpoint{}, fmt.Errorf("opening the ranks' rendezvous: %w", err)
	}
	n.ranksAt = endpoint{Target: n.ranks.Target(), Token: secret}
	_, port, err := net.SplitHostPort(n.ranksAt.Target)
	return endpoint{Target: net.JoinHostPort(n.config.Addr, port), Token: secret}, err
}

// Loopback reports whether an address means this machine on every machine.
func Loopback(addr string) bool {
	ip := net.ParseIP(addr)
	return addr == "localhost" || ip != nil && ip.IsLoopback()
}

// localAddress is the IP address of a name, on which node 0 listens.
func localAddress(ctx context.Context, addr string) (string, error) {
	all, err := net.DefaultResolver.LookupIPAddr(ctx, addr)
	if err != nil {
		return "", fmt.Errorf("looking up node 0's address: %w", err)
	}
	return reachable(addr, all)
}

// reachable chooses among the addresses of a name on node 0. Many machines resolve
// their own name to a loopback address, which other nodes cannot reach.
func reachable(addr string, all []net.IPAddr) (string, error) {
	chosen := all[0]
	for _, a := range all {
		if a.IP.To4() != nil {
			chosen = a
			break
		}
	}
	if chosen.IP.IsLoopback() && !Loopback(addr) {
		return "", fmt.Errorf("%s is %s on this machine, which the other nodes cannot reach: give node 0's IP address as "+
			"--master-addr, on all nodes", addr, chosen.IP)
	}
	return chosen.String(), nil
}
