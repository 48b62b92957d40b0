package transport

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrTLS says that two nodes do not accept each other.
var ErrTLS = errors.New("no TLS connection")

// TLSFiles name what a node needs for mutual TLS, all in PEM.
type TLSFiles struct {
	Cert string `json:"cert"` // its certificate, and the intermediate ones
	Key  string `json:"key"`
	CA   string `json:"ca"` // certificates of the authorities that sign all nodes'
	// ServerName is what the certificates of servers must be for. Empty: the host
	// by which a server is called.
	ServerName string `json:"server_name,omitempty"`
}

// TLS is the configuration of a node for mutual TLS 1.3. Both ends of a connection
// show a certificate that an authority of the job has signed. A nil TLS means plain
// text.
type TLS struct {
	files TLSFiles
	roots *x509.CertPool
}

// LoadTLS reads the files, and makes sure that other nodes will take this one's
// certificate for a client's. The errors name the file.
func LoadTLS(files TLSFiles) (*TLS, error) {
	text, err := os.ReadFile(files.CA)
	if err != nil {
		return nil, fmt.Errorf("reading the certificates of authorities: %w", err)
	}
	t := &TLS{files: files, roots: x509.NewCertPool()}
	if !t.roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", files.CA)
	}
	own, err := t.load()
	if err != nil {
		return nil, err
	}
	_, err = own.Leaf.Verify(x509.VerifyOptions{
		Roots: t.roots, Intermediates: intermediates(own), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, fmt.Errorf("the certificate in %s %s", files.Cert, t.problem(err, "client"))
	}
	return t, nil
}

// Files are those that LoadTLS was given; nil for plain text.
func (t *TLS) Files() *TLSFiles {
	if t == nil {
		return nil
	}
	return &t.files
}

// load reads this node's certificate. It does so for every connection, because a
// job may last longer than a certificate.
func (t *TLS) load() (*tls.Certificate, error) {
	own, err := tls.LoadX509KeyPair(t.files.Cert, t.files.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate %s with the key %s: %w", t.files.Cert, t.files.Key, err)
	}
	return &own, nil
}

func intermediates(own *tls.Certificate) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, der := range own.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil { // others may do without it
			pool.AddCert(c)
		}
	}
	return pool
}

// config is for both ends.
func (t *TLS) config() *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		RootCAs:                t.roots,
		ClientCAs:              t.roots,
		ClientAuth:             tls.RequireAndVerifyClientCert,
		ServerName:             t.files.ServerName,
		SessionTicketsDisabled: true, // every connection shows its certificate
		GetCertificate:         func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return t.load() },
		GetClientCertificate:   func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return t.load() },
	}
}

// problem says what is wrong with a certificate, of a client or a server.
func (t *TLS) problem(err error, role string) string {
	var (
		invalid x509.CertificateInvalidError
		host    x509.HostnameError
		signer  x509.UnknownAuthorityError
	)
	switch errors.As(err, &invalid); {
	case errors.As(err, &host):
		return fmt.Sprintf("is not for %s: it needs the name or address by which all nodes call that server (%v)", host.Host,
			err)
	case errors.As(err, &signer):
		return "was not signed by an authority in " + t.files.CA
	case invalid.Cert != nil && invalid.Reason == x509.Expired:
		return fmt.Sprintf("has expired or is not valid yet: it is valid from %s to %s, and now is %s here",
			stamp(invalid.Cert.NotBefore), stamp(invalid.Cert.NotAfter), stamp(time.Now()))
	case invalid.Reason == x509.IncompatibleUsage:
		return fmt.Sprintf("is not for a %s: its extended key usage lacks %[1]sAuth", role)
	}
	return fmt.Sprintf("is not to be trusted: %v", err)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
