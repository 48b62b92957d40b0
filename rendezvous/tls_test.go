package rendezvous_test

import (
	"errors"
	"strings"
	"testing"

	"gpurun/rendezvous"
	"gpurun/rendezvous/transport"
	"gpurun/rendezvous/transport/certtest"
)

// Certificates do where a token would, and both are asked for where both are given.
func TestGroupOverTLS(t *testing.T) {
	a := certtest.New(t)
	both := a.Load(nil, "127.0.0.1")
	for name, token := range map[string]string{"certificates alone": "", "with a token": "secret"} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, rendezvous.ServerConfig{WorldSize: 2, Listen: "127.0.0.1:0", Token: token, TLS: both})
			err := joinError(t, srv.Target(), member(0, 2), rendezvous.Options{Token: token})
			if !errors.Is(err, transport.ErrTLS) || !strings.Contains(err.Error(), ": no TLS connection: the server at ") ||
				strings.Contains(err.Error(), "no answer") {
				t.Errorf("without a certificate: %v", err)
			}
			if token != "" {
				err := joinError(t, srv.Target(), member(0, 2), rendezvous.Options{TLS: both})
				if !errors.Is(err, rendezvous.ErrToken) {
					t.Errorf("without the token: %v", err)
				}
			}
			groups := joinAll(t, srv.Target(), 2, rendezvous.Options{Token: token, TLS: both})
			err = onEach(2, func(rank int) error { return groups[rank].Barrier(testContext(t), "ready") })
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestListeningBeyondLoopbackWithTLS(t *testing.T) {
	srv, err := rendezvous.Serve(rendezvous.ServerConfig{
		WorldSize: 1, Listen: "0.0.0.0:0", TLS: certtest.New(t).Load(nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
}
