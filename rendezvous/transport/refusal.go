package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
)

// explain says why a server and this node do not accept each other. It returns nil
// if the network failed.
func (t *TLS) explain(server string, _ byte, err error) error {
	var (
		untrusted *tls.CertificateVerificationError
		plain     tls.RecordHeaderError
		alert     *net.OpError
	)
	switch {
	case errors.As(err, &untrusted):
		return fmt.Errorf("%w: the certificate of the server at %s %s", ErrTLS, server, t.problem(untrusted.Err, "server"))
	case errors.As(err, &plain):
		return fmt.Errorf("%w: the server at %s does not speak TLS: give all nodes --tls-cert, --tls-key and --tls-ca, "+
			"or none of them", ErrTLS, server)
	case errors.As(err, &alert) && alert.Op == "remote error": // as crypto/tls names the other side's alerts
		return fmt.Errorf("%w: the server at %s refuses this node, with the certificate in %s: %w: give all nodes valid "+
			"certificates of the authorities in --tls-ca, and the same --tls-ca",
			ErrTLS, server, t.files.Cert, alert.Err)
	}
	return nil
}

// explainPlain recognizes a server that requires TLS by its alert.
func explainPlain(server string, first byte, _ error) error {
	if first != recordAlert {
		return nil
	}
	return fmt.Errorf("%w: the server at %s requires TLS: give this node --tls-cert, --tls-key and --tls-ca, as it has",
		ErrTLS, server)
}
