package main

import (
	"fmt"
	"os"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/rendezvous/transport"
	"gpurun/worker/nodes"
)

// tokenVariable has the secret of a job across machines. It is no flag, because
// everybody on a machine can read the others' command lines.
const tokenVariable = "GPURUN_RDZV_TOKEN"

// trust is how nodes know that they belong together: by a token, by certificates, or both.
type trust struct {
	token string         // empty: none
	tls   *transport.TLS // nil: plain text
}

// trust reads the token and the certificates.
func (s *settings) trust(tokenFile string, files transport.TLSFiles) (t trust, err error) {
	if t.token, err = s.token(tokenFile); err != nil {
		return t, err
	}
	t.tls, err = s.tls(files)
	return t, err
}

// checkTrust refuses nodes that trust everybody and meet at a host beyond loopback.
func (s *settings) checkTrust(t trust, host string) error {
	if t.token == "" && t.tls == nil && !nodes.Loopback(host) {
		return s.noSecret(host)
	}
	return nil
}

// noSecret says how nodes that meet at an address beyond loopback get a secret.
func (s *settings) noSecret(addr string) error {
	if s.slurmStep != nil {
		return exit.Usagef("nodes that meet at %s need a secret in common: put \"export %s=$(openssl rand -hex 32)\" before srun, which hands it to all of them, "+
			"or give --rdzv-token-file FILE in a folder that they share", addr, tokenVariable)
	}
	return exit.Usagef("nodes that meet at %s need a secret in common: run \"openssl rand -hex 32 > FILE\" once, copy FILE to all nodes, "+
		"and give --rdzv-token-file FILE, or set %s; or give all certificates, by --tls-cert, --tls-key and --tls-ca", addr, tokenVariable)
}

// A token is long enough not to be guessed, and short enough for a header.
const (
	leastToken = 16
	mostToken  = 4096
)

// token reads the secret, from the file if there is one; it may be empty. No
// message repeats it.
func (s *settings) token(file string) (string, error) {
	text, source := os.Getenv(tokenVariable), tokenVariable
	if file != "" {
		data, err := readRegular(file, mostToken)
		if err != nil {
			return "", s.blame("rdzv-token-file", err)
		}
		text, source = string(data), file
		if strings.TrimSpace(text) == "" {
			return "", exit.Usagef("%s is empty: \"openssl rand -hex 32\" makes a secret", source)
		}
	}
	token := strings.TrimSpace(text)
	printable := !strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' })
	if token != "" && (len(token) < leastToken || len(token) > mostToken || !printable) {
		return "", exit.Usagef("%s holds no secret of %d to %d letters, digits and signs in one line: \"openssl rand -hex 32\" makes one",
			source, leastToken, mostToken)
	}
	return token, nil
}

// forgetToken takes the secret out of the environment: workers have no use for it,
// and programs show their environment in many places.
func forgetToken() error {
	if err := os.Unsetenv(tokenVariable); err != nil {
		return fmt.Errorf("forgetting %s: %w", tokenVariable, err)
	}
	return nil
}

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
