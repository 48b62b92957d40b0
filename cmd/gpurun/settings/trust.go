package settings

import (
	"fmt"
	"os"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/rendezvous/transport"
	"gpurun/worker/nodes"
)

// TokenVariable has the secret of a job across machines. It is no flag, because
// everybody on a machine can read the others' command lines.
const TokenVariable = "GPURUN_RDZV_TOKEN"

// Trust is how nodes know that they belong together: by a token, by certificates, or both.
type Trust struct {
	Token string         // empty: none
	TLS   *transport.TLS // nil: plain text
}

// TrustFiles are the files that a Trust is read from; each may be empty.
type TrustFiles struct {
	Token string `mapstructure:"rdzv-token-file"`
	Cert  string `mapstructure:"tls-cert"`
	Key   string `mapstructure:"tls-key"`
	CA    string `mapstructure:"tls-ca"`
}

// Trust reads the token and the certificates. Node 0's certificate must be for serverName, or,
// if that is empty, for the host by which it is called.
func (s *Sources) Trust(f TrustFiles, serverName string) (t Trust, err error) {
	if t.Token, err = s.token(f.Token); err != nil {
		return t, err
	}
	t.TLS, err = s.tls(transport.TLSFiles{Cert: f.Cert, Key: f.Key, CA: f.CA, ServerName: serverName})
	return t, err
}

// CheckTrust refuses nodes that trust everybody and meet at a host beyond loopback.
func (s *Sources) CheckTrust(t Trust, host string) error {
	if t.Token == "" && t.TLS == nil && !nodes.Loopback(host) {
		return s.noSecret(host)
	}
	return nil
}

// noSecret says how nodes that meet at an address beyond loopback get a secret.
func (s *Sources) noSecret(addr string) error {
	if s.slurmStep != nil {
		return exit.Usagef("nodes that meet at %s need a secret in common: put \"export %s=$(openssl rand -hex 32)\" before srun, which hands it to all of them, "+
			"or give --rdzv-token-file FILE in a folder that they share", addr, TokenVariable)
	}
	return exit.Usagef("nodes that meet at %s need a secret in common: run \"openssl rand -hex 32 > FILE\" once, copy FILE to all nodes, "+
		"and give --rdzv-token-file FILE, or set %s; or give all certificates, by --tls-cert, --tls-key and --tls-ca", addr, TokenVariable)
}

// A token is long enough not to be guessed, and short enough for a header.
const (
	leastToken = 16
	mostToken  = 4096
)

// token reads the secret, from the file if there is one; it may be empty. No
// message repeats it.
func (s *Sources) token(file string) (string, error) {
	text, source := os.Getenv(TokenVariable), TokenVariable
	if file != "" {
		data, err := ReadFile(file, mostToken)
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

// tlsKeys are the settings for mutual TLS between nodes.
func tlsKeys() []string { return []string{"tls-cert", "tls-key", "tls-ca"} }

// tls makes this node ready for mutual TLS; nil is plain text.
func (s *Sources) tls(files transport.TLSFiles) (*transport.TLS, error) {
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
		return nil, s.Blame(given[0], fmt.Errorf("TLS between nodes needs %s as well", strings.Join(missing, " and ")))
	}
	t, err := transport.LoadTLS(files)
	if err != nil {
		return nil, exit.Usagef("TLS between nodes: %w", err)
	}
	return t, nil
}
