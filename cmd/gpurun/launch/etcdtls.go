package launch

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"os"

	"gpurun/cmd/gpurun/exit"
)

// etcdTLSKeys are the settings that etcdTLS reads.
func etcdTLSKeys() []string { return []string{"protocol", "cacert", "cert", "key"} }

// etcdTLS reads torchrun's settings for an etcd behind TLS; nil is plain text. Without
// cacert the machine's authorities count, and without key the certificate's file has it.
func etcdTLS(conf map[string]string) (*tls.Config, error) {
	switch protocol := conf["protocol"]; protocol {
	case "", "http":
		for _, key := range []string{"cacert", "cert", "key"} {
			if conf[key] != "" {
				return nil, exit.Usagef("--rdzv-conf %s=%s: protocol=https must be set too", key, conf[key])
			}
		}
		return nil, nil
	case "https":
	default:
		return nil, exit.Usagef("--rdzv-conf protocol=%s: the protocol must be http or https", protocol)
	}
	roots, err := authorities(conf["cacert"])
	if err != nil {
		return nil, err
	}
	c := &tls.Config{RootCAs: roots}
	if file := conf["cert"]; file != "" {
		own, err := tls.LoadX509KeyPair(file, cmp.Or(conf["key"], file))
		if err != nil {
			return nil, exit.Usagef("--rdzv-conf cert=%s: %w", file, err)
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, nil
}

// authorities reads their certificates; nil without a file.
func authorities(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, exit.Usagef("--rdzv-conf cacert: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, exit.Usagef("--rdzv-conf cacert=%s: the file has no certificate in PEM", file)
	}
	return roots, nil
}
