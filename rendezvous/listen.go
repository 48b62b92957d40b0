package rendezvous

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"

	"gpurun/rendezvous/transport"
)

// abstractScheme begins the targets of abstract Unix sockets: such a socket
// has a name but no file, and is gone with its last file descriptor.
const abstractScheme = "unix-abstract:"

// endpoint is an open listener, how clients name it, and how both sides make
// sure of each other.
type endpoint struct {
	listener net.Listener
	target   string
	creds    credentials.TransportCredentials
}

// listen opens "unix-abstract:NAME", "host:port", or, for an empty address, an
// abstract Unix socket with a fresh random name.
func listen(config ServerConfig, refused *transport.Refusals) (*endpoint, error) {
	address := config.Listen
	if address == "" {
		address = freshAbstract()
	}
	if name, ok := strings.CutPrefix(address, abstractScheme); ok {
		return listenAbstract(name)
	}
	return listenTCP(address, config, refused)
}

func listenAbstract(name string) (*endpoint, error) {
	if name == "" {
		return nil, errors.New("listening on an abstract Unix socket: the name is empty")
	}
	l, err := net.Listen("unix", "@"+name)
	if err != nil {
		return nil, fmt.Errorf("listening on abstract Unix socket %q: %w", name, err)
	}
	return &endpoint{listener: l, target: abstractScheme + name, creds: samePeerUID()}, nil
}

// listenTCP refuses to be reachable from other hosts without TLS or a token.
func listenTCP(address string, config ServerConfig, refused *transport.Refusals) (*endpoint, error) {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", address, err)
	}
	if config.Token == "" && config.TLS == nil && !addr.IP.IsLoopback() {
		return nil, fmt.Errorf("listening on %q: an address beyond loopback needs TLS or a job token", address)
	}
	l, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening on %q: %w", address, err)
	}
	return &endpoint{listener: l, target: l.Addr().String(), creds: config.TLS.Server(config.Logger, refused)}, nil
}

// freshAbstract is the address of an abstract socket with a random name.
func freshAbstract() string {
	return abstractScheme + "gpurun-" + randomHex()
}

// randomHex is 128 random bits.
func randomHex() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b[:])
}

// dialTarget is a target as gRPC's own resolvers understand it, with the
// credentials that its server expects; refused hears of those that it will never
// take.
func dialTarget(target string, tls *transport.TLS, refused func(error)) (string, credentials.TransportCredentials) {
	if strings.HasPrefix(target, abstractScheme) {
		return target, samePeerUID()
	}
	return "passthrough:///" + target, tls.Client(refused)
}
