package node

import (
	"fmt"
	"os"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/rendezvous/transport"
	"gpurun/worker/process/nodes"
)

// TokenVariable has the secret of a job across machines. It is no flag, because
// everybody on a machine can read the others' command lines.
const TokenVariable = "GPURUN_RDZV_TOKEN"

// Credentials authenticate the nodes of a job to each other: a token, certificates, or both.
type Credentials struct {
	Token string         // empty: none
	TLS   *transport.TLS // nil: plain text
}

// ReadCredentials reads the token and the certificates. Node 0's certificate must be for serverName, or,
// if that is empty, for the host by which it is called.
func ReadCredentials(s *settings.Sources, f settings.CredentialFiles, serverName string) (t Credentials, err error) {
	if t.Token, err = readToken(s, f.Token); err != nil {
		return t, err
	}
	t.TLS, err = readTLS(s, transport.TLSFiles{Cert: f.Cert, Key: f.Key, CA: f.CA, ServerName: serverName})
	return t, err
}

// Check returns an error if nodes without credentials meet at a host other than loopback. srun: the nodes were started
// by srun, which passes its environment to all of them.
func (t Credentials) Check(host string, srun bool) error {
	switch {
	case t.Token != "", t.TLS != nil, nodes.Loopback(host):
		return nil
	case srun:
		return exit.Usagef("nodes that meet at %s need a shared secret: put \"export %s=$(openssl rand -hex 32)\" "+
			"before srun, which passes it to all nodes, or give --rdzv-token-file FILE, a file that all nodes can read",
			host, TokenVariable)
	}
	return exit.Usagef("nodes that meet at %s need a shared secret: run \"openssl rand -hex 32 > FILE\" once, "+
		"copy FILE to all nodes, and give --rdzv-token-file FILE, or set %s; "+
		"or give all certificates, by --tls-cert, --tls-key and --tls-ca", host, TokenVariable)
}

// A token is long enough not to be guessed, and short enough for a header.
const (
	minToken = 16
	maxToken = 4096
)

// readToken reads the secret, from the file if there is one; it may be empty. No
// message repeats it.
func readToken(s *settings.Sources, file string) (string, error) {
	text, source := os.Getenv(TokenVariable), TokenVariable
	if file != "" {
		data, err := settings.ReadFile(file, maxToken)
		if err != nil {
			return "", s.Invalid("rdzv-token-file", err)
		}
		text, source = string(data), file
		if strings.TrimSpace(text) == "" {
			return "", exit.Usagef("%s is empty: \"openssl rand -hex 32\" makes a secret", source)
		}
	}
	token := strings.TrimSpace(text)
	printable := !strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' })
	if token != "" && (len(token) < minToken || len(token) > maxToken || !printable) {
		return "", exit.Usagef("%s: a secret is one line of %d to %d printable characters without spaces: "+
			"\"openssl rand -hex 32\" makes one", source, minToken, maxToken)
	}
	return token, nil
}

// ForgetToken takes the secret out of the environment: workers have no use for it,
// and programs show their environment in many places.
func ForgetToken() error {
	if err := os.Unsetenv(TokenVariable); err != nil {
		return fmt.Errorf("forgetting %s: %w", TokenVariable, err)
	}
	return nil
}

// readTLS makes this node ready for mutual TLS; nil is plain text.
func readTLS(s *settings.Sources, files transport.TLSFiles) (*transport.TLS, error) {
	var given, missing []string
	for i, file := range []string{files.Cert, files.Key, files.CA} {
		if key := settings.TLSKeys()[i]; file != "" {
			given = append(given, key)
		} else {
			missing = append(missing, "--"+key)
		}
	}
	switch {
	case len(given) == 0:
		return nil, nil
	case len(missing) > 0:
		return nil, s.Invalid(given[0], fmt.Errorf("TLS between nodes needs %s as well", strings.Join(missing, " and ")))
	}
	t, err := transport.LoadTLS(files)
	if err != nil {
		return nil, exit.Usagef("TLS between nodes: %w", err)
	}
	return t, nil
}
