package main

import (
	"fmt"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/rendezvous/transport"
)

// tlsKeys are the settings for mutual TLS between nodes.
func tlsKeys() []string { return []string{"tls-cert", "tls-key", "tls-ca"} }

// tls makes this node ready for mutual TLS; nil is plain text.
func (s *settings) tls(files transport.TLSFiles) (*transport.TLS, error) {
	var given, missing []string
	for i, file := range []string{files.Cert, files.Key, files.CA} {
		if key := tlsKeys()[i]; file != "" {
			given = append(given, key)
		} else {
			missing = append(missing, "--"+key)
		}
	}
	switch {
	case len(given) == 0:
		return nil, nil
	case len(missing) > 0:
		return nil, s.blame(given[0], fmt.Errorf("TLS between nodes needs %s as well", strings.Join(missing, " and ")))
	}
	t, err := transport.LoadTLS(files)
	if err != nil {
		return nil, exit.Usagef("TLS between nodes: %w", err)
	}
	return t, nil
}

// tls is how a worker meets the ranks of other machines: with its node's files.
func (a assignment) tls() (*transport.TLS, error) {
	if a.TLS == nil {
		return nil, nil
	}
	t, err := transport.LoadTLS(*a.TLS)
	if err != nil {
		return nil, fmt.Errorf("TLS between nodes: %w", err)
	}
	return t, nil
}
