// Package trust reads how the machines of a job know that they belong together.
package trust

import (
	"fmt"
	"os"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/sources"
	"gpurun/cmd/gpurun/textfile"
	"gpurun/rendezvous/transport"
	"gpurun/worker/process/nodes"
)

// TokenVariable has the secret of a job across machines. It is no flag, because
// everybody on a machine can read the others' command lines.
const TokenVariable = "GPURUN_RDZV_TOKEN"

// Trust is how nodes know that they belong together: by a token, by certificates, or both.
type Trust struct {
	Token string         // empty: none
	TLS   *transport.TLS // nil: plain text
}

// Read reads the token and the certificates. Node 0's certificate must be for serverName, or,
// if that is empty, for the host by which it is called.
func Read(s *sources.Sources, f settings.TrustFiles, serverName string) (t Trust, err error) {
	if t.Token, err = readToken(s, f.Token); err != nil {
		return t, err
	}
	t.TLS, err = readTLS(s, transport.TLSFiles{Cert: f.Cert, Key: f.Key, CA: f.CA, ServerName: serverName})
	return t, err
}

// Check refuses nodes that trust everybody and meet at a host beyond loopback. srun says that
// it has started them, and so hands its environment to all.
func (t Trust) Check(host string, srun bool) error {
	switch {
	case t.Token != "", t.TLS != nil, nodes.Loopback(host):
		return nil
	case srun:
		return exit.Usagef("nodes that meet at %s need a secret in common: put \"export %s=$(openssl rand -hex 32)\" before srun, which hands it to all of them, "+
			"or give --rdzv-token-file FILE in a folder that they share", host, TokenVariable)
	}
	return exit.Usagef("nodes that meet at %s need a secret in common: run \"openssl rand -hex 32 > FILE\" once, copy FILE to all nodes, "+
		"and give --rdzv-token-file FILE, or set %s; or give all certificates, by --tls-cert, --tls-key and --tls-ca", host, TokenVariable)
}

// A token is long enough not to be guessed, and short enough for a header.
const (
	leastToken = 16
	mostToken  = 4096
)

// readToken reads the secret, from the file if there is one; it may be empty. No
// message repeats it.
func readToken(s *sources.Sources, file string) (string, error) {
	text, source := os.Getenv(TokenVariable), TokenVariable
	if file != "" {
		data, err := textfile.Read(file, mostToken)
		if err != nil {
			return "", s.Blame("rdzv-token-file", err)
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

// ForgetToken takes the secret out of the environment: workers have no use for it,
// and programs show their environment in many places.
func ForgetToken() error {
	if err := os.Unsetenv(TokenVariable); err != nil {
		return fmt.Errorf("forgetting %s: %w", TokenVariable, err)
	}
	return nil
}

// readTLS makes this node ready for mutual TLS; nil is plain text.
func readTLS(s *sources.Sources, files transport.TLSFiles) (*transport.TLS, error) {
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
		return nil, s.Blame(given[0], fmt.Errorf("TLS between nodes needs %s as well", strings.Join(missing, " and ")))
	}
	t, err := transport.LoadTLS(files)
	if err != nil {
		return nil, exit.Usagef("TLS between nodes: %w", err)
	}
	return t, nil
}
