package transport_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"gpurun/rendezvous/transport"
	"gpurun/rendezvous/transport/certtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTimeout bounds waits that nothing should reach.
const testTimeout = 30 * time.Second

// serve serves a health service, on 127.0.0.1.
func serve(t *testing.T, t13 *transport.TLS) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serveOn(t, l, t13)
	return l.Addr().String()
}

func serveOn(t *testing.T, l net.Listener, t13 *transport.TLS) {
	t.Helper()
	server := transport.NewServer(t13.Server(zap.NewNop(), nil), "", false, nil)
	healthpb.RegisterHealthServer(server, health.NewServer())
	listener := transport.NewListener(l)
	var running errgroup.Group
	running.Go(func() error { return server.Serve(listener) })
	t.Cleanup(func() {
		transport.Stop(server, listener)
		if err := running.Wait(); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
}

// call makes a call that waits for the server to be ready, and returns why it
// never will be.
func call(t *testing.T, t13 *transport.TLS, address string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	conn, err := transport.Connect("passthrough:///"+address, t13.Client(refuse))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func expired(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }

func early(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }

func onlyFor(usage x509.ExtKeyUsage) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{usage} }
}

func TestBothSidesAreVerified(t *testing.T) {
	ours, theirs := certtest.New(t), certtest.New(t)
	good := ours.Load(nil, "127.0.0.1")
	named := ours.Node(nil, "node0.example")
	named.ServerName = "node0.example"
	byName, err := transport.LoadTLS(named)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		server, client *transport.TLS
		want           string // empty: they meet
	}{
		"both":            {good, ours.Load(nil), ""},
		"a client alone":  {good, ours.Load(onlyFor(x509.ExtKeyUsageClientAuth)), ""},
		"by another name": {byName, byName, ""},
		"nobody":          {nil, nil, ""},
		"another host": {
			ours.Load(nil, "127.0.0.2", "node0"), good,
			"is not for 127.0.0.1: it needs the name or address by which all nodes call that server",
		},
		"another name": {good, byName, "is not for node0.example"},
		"not a server": {
			ours.Load(onlyFor(x509.ExtKeyUsageClientAuth), "127.0.0.1"), good,
			"is not for a server: its extended key usage lacks serverAuth",
		},
		"another authority":    {theirs.Load(nil, "127.0.0.1"), good, "was not signed by an authority in "},
		"a plain client":       {good, nil, "requires TLS: give this node --tls-cert, --tls-key and --tls-ca"},
		"a plain server":       {nil, good, "does not speak TLS: give all nodes"},
		"a client of another":  {good, mixed(t, ours, theirs), "refuses this node, with the certificate in "},
		"a server that lapsed": {lapsed(t, ours, "127.0.0.1"), good, "has expired or is not valid yet: it is valid from "},
		"a client that lapsed": {good, lapsed(t, ours), "expired certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := call(t, tt.client, serve(t, tt.server))
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, transport.ErrTLS) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %q", err, tt.want)
			}
		})
	}
}

// mixed trusts the first authority, and has a certificate of the second.
func mixed(t *testing.T, trusted, signer *certtest.Authority) *transport.TLS {
	t.Helper()
	files := trusted.Node(nil)
	node, err := transport.LoadTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, files, signer.Node(nil))
	return node
}

// lapsed was valid when it was loaded.
func lapsed(t *testing.T, a *certtest.Authority, hosts ...string) *transport.TLS {
	t.Helper()
	files := a.Node(nil, hosts...)
	node, err := transport.LoadTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, files, a.Node(expired, hosts...))
	return node
}

func replace(t *testing.T, files, by transport.TLSFiles) {
	t.Helper()
	for from, to := range map[string]string{by.Cert: files.Cert, by.Key: files.Key} {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
}

// A certificate that is renewed while a job runs counts from the next connection on.
func TestRenewedCertificatesAreRead(t *testing.T) {
	a := certtest.New(t)
	files := a.Node(nil, "localhost")
	server, err := transport.LoadTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	address, client := serve(t, server), a.Load(nil)
	if err := call(t, client, address); !errors.Is(err, transport.ErrTLS) {
		t.Errorf("got %v", err)
	}
	replace(t, files, a.Node(nil, "127.0.0.1"))
	if err := call(t, client, address); err != nil {
		t.Error(err)
	}
}

func TestCertificatesThatCannotBeUsed(t *testing.T) {
	a, other := certtest.New(t), certtest.New(t)
	good := a.Node(nil)
	empty := t.TempDir() + "/empty.pem"
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		files transport.TLSFiles
		want  string
	}{
		"expired": {a.Node(expired), "has expired or is not valid yet"},
		"early":   {a.Node(early), "has expired or is not valid yet"},
		"not a client": {
			a.Node(onlyFor(x509.ExtKeyUsageServerAuth)), "is not for a client: its extended key usage lacks clientAuth",
		},
		"another authority": {
			transport.TLSFiles{Cert: good.Cert, Key: good.Key, CA: other.Node(nil).CA}, "was not signed by an authority in ",
		},
		"another key": {
			transport.TLSFiles{Cert: good.Cert, Key: a.Node(nil).Key, CA: good.CA}, "private key does not match public key",
		},
		"no authority":   {transport.TLSFiles{Cert: good.Cert, Key: good.Key, CA: empty}, "holds no certificate in PEM"},
		"no certificate": {transport.TLSFiles{Cert: empty, Key: good.Key, CA: good.CA}, "reading the certificate " + empty},
		"no file":        {transport.TLSFiles{Cert: good.Cert, Key: good.Key, CA: "missing.pem"}, "missing.pem"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := transport.LoadTLS(tt.files); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// What crypto/tls can be told to do besides: no older version, and no client
// without a certificate.
func TestWeakClientsAreRefused(t *testing.T) {
	a := certtest.New(t)
	address, files := serve(t, a.Load(nil, "127.0.0.1")), a.Node(nil)
	own, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		config *tls.Config
		want   string
	}{
		"TLS 1.2": {
			&tls.Config{MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}}, "protocol version not supported",
		},
		"no certificate": {&tls.Config{}, "certificate required"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.config.InsecureSkipVerify, tt.config.NextProtos = true, []string{"h2"} // what the server does is tested
			raw, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			if err := raw.SetDeadline(time.Now().Add(testTimeout)); err != nil {
				t.Fatal(err)
			}
			conn := tls.Client(raw, tt.config)
			if err = conn.Handshake(); err == nil {
				_, err = io.ReadAll(conn)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// hangsUp ends the first connections, without a word.
type hangsUp struct {
	net.Listener
	first int
}

func (h *hangsUp) Accept() (net.Conn, error) {
	for {
		conn, err := h.Listener.Accept()
		if err != nil || h.first == 0 {
			return conn, err
		}
		h.first--
		conn.Close()
	}
}

// A server that comes up, or a network that fails, is no reason to give up.
func TestWhoIsHungUpOnTriesAgain(t *testing.T) {
	a := certtest.New(t)
	for name, both := range map[string]*transport.TLS{"TLS": a.Load(nil, "127.0.0.1"), "plain text": nil} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			serveOn(t, &hangsUp{l, 2}, both)
			if err := call(t, both, l.Addr().String()); err != nil {
				t.Error(err)
			}
		})
	}
}
