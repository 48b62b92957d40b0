// Package certtest makes authorities and certificates for tests of mutual TLS.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gpurun/rendezvous/transport"
)

// Authority signs certificates. All files are gone when its test ends.
type Authority struct {
	tb   testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// New returns a new authority.
func New(tb testing.TB) *Authority {
	tb.Helper()
	a := &Authority{tb: tb, key: newKey(tb), cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of " + tb.Name()},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}}
	der := a.sign(a.cert, a.key)
	a.pem = encode("CERTIFICATE", der)
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		tb.Fatal(err)
	}
	return a
}

// Node returns the files node.pem, node.key and ca.pem, in a folder of their own, of a
// node whose certificate is for the hosts, names or
// addresses. It is valid for clients and servers, now, unless change says
// otherwise; nil changes nothing.
func (a *Authority) Node(change func(*x509.Certificate), hosts ...string) transport.TLSFiles {
	a.tb.Helper()
	key := newKey(a.tb)
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "node"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else {
			cert.DNSNames = append(cert.DNSNames, host)
		}
	}
	if change != nil {
		change(cert)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.tb.Fatal(err)
	}
	folder := a.tb.TempDir()
	files := transport.TLSFiles{
		Cert: filepath.Join(folder, "node.pem"), Key: filepath.Join(folder, "node.key"), CA: filepath.Join(folder, "ca.pem"),
	}
	for path, text := range map[string][]byte{
		files.Cert: encode("CERTIFICATE", a.sign(cert, key)), files.Key: encode("PRIVATE KEY", der), files.CA: a.pem,
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			a.tb.Fatal(err)
		}
	}
	return files
}

// Load is Node, loaded.
func (a *Authority) Load(change func(*x509.Certificate), hosts ...string) *transport.TLS {
	a.tb.Helper()
	t, err := transport.LoadTLS(a.Node(change, hosts...))
	if err != nil {
		a.tb.Fatal(err)
	}
	return t
}

func (a *Authority) sign(cert *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	a.tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, key.Public(), a.key)
	if err != nil {
		a.tb.Fatal(err)
	}
	return der
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
