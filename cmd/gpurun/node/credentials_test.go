package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags/flagtest"
	"gpurun/cmd/gpurun/settings"
	"gpurun/rendezvous/transport"
)

// The file wins over the variable, and no message repeats a secret.
func TestToken(t *testing.T) {
	s, err := settings.Load(flagtest.Collective(t, "allreduce"))
	if err != nil {
		t.Fatal(err)
	}
	const secret = "0123456789abcdef"
	folder := t.TempDir()
	for _, c := range []struct{ file, variable, want, says string }{
		{"", "", "", ""},
		{"", secret, secret, ""},
		{"  " + secret + "\n", "fedcba9876543210", secret, ""},
		{" \n", secret, "", "is empty"},
		{"", secret[:15], "", TokenVariable + ": a secret is one line of 16 to 4096"},
		{secret + "\n" + secret, "", "", "one line of"},
		{secret + strings.Repeat("x", 4096), "", "", "more than the limit of 4096"},
	} {
		t.Setenv(TokenVariable, c.variable)
		files := settings.CredentialFiles{}
		if c.file != "" {
			files.Token = filepath.Join(folder, "token")
			if err := os.WriteFile(files.Token, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := ReadCredentials(s, files, "")
		switch {
		case got.Token != c.want, (err == nil) != (c.says == ""):
			t.Errorf("%q and %q: %q, %v", c.file, c.variable, got.Token, err)
		case err != nil && (exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), c.says) ||
			strings.Contains(err.Error(), secret[:8])):
			t.Errorf("%q and %q: %v", c.file, c.variable, err)
		}
	}
}

// Nodes beyond loopback need a secret or certificates, and are told what their launcher makes
// easy.
func TestCheck(t *testing.T) {
	const far = "192.0.2.7"
	for _, c := range []struct {
		trust Credentials
		host  string
		srun  bool
		says  string
	}{
		{Credentials{}, "127.0.0.1", false, ""},
		{Credentials{Token: "x"}, far, false, ""},
		{Credentials{TLS: &transport.TLS{}}, far, false, ""},
		{Credentials{}, far, false, "by --tls-cert"},
		{Credentials{}, far, true, "before srun"},
	} {
		err := c.trust.Check(c.host, c.srun)
		if (err == nil) != (c.says == "") || err != nil &&
			(exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Of three files for TLS one alone is a slip.
func TestPartsOfTLS(t *testing.T) {
	s, err := settings.Load(flagtest.Collective(t, "allreduce", "--tls-key", "x"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ReadCredentials(s, settings.CredentialFiles{Key: "x"}, "")
	if want := "--tls-key: TLS between nodes needs --tls-cert and --tls-ca as well"; exit.Code(err) != exit.Usage ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
