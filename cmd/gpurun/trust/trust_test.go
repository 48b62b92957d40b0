package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags/flagtest"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/sources"
	"gpurun/rendezvous/transport"
)

// The file wins over the variable, and no message repeats a secret.
func TestToken(t *testing.T) {
	s, err := sources.Load(flagtest.Collective(t, "allreduce"))
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
		{"", secret[:15], "", TokenVariable + " holds no secret of 16 to 4096"},
		{secret + "\n" + secret, "", "", "in one line"},
		{secret + strings.Repeat("x", 4096), "", "", "more than the 4096"},
	} {
		t.Setenv(TokenVariable, c.variable)
		files := settings.TrustFiles{}
		if c.file != "" {
			files.Token = filepath.Join(folder, "token")
			if err := os.WriteFile(files.Token, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Read(s, files, "")
		switch {
		case got.Token != c.want, (err == nil) != (c.says == ""):
			t.Errorf("%q and %q: %q, %v", c.file, c.variable, got.Token, err)
		case err != nil && (exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), secret[:8])):
			t.Errorf("%q and %q: %v", c.file, c.variable, err)
		}
	}
}

// Nodes beyond loopback need a secret or certificates, and are told what their launcher makes
// easy.
func TestCheck(t *testing.T) {
	const far = "192.0.2.7"
	for _, c := range []struct {
		trust Trust
		host  string
		srun  bool
		says  string
	}{
		{Trust{}, "127.0.0.1", false, ""},
		{Trust{Token: "x"}, far, false, ""},
		{Trust{TLS: &transport.TLS{}}, far, false, ""},
		{Trust{}, far, false, "by --tls-cert"},
		{Trust{}, far, true, "before srun"},
	} {
		err := c.trust.Check(c.host, c.srun)
		if (err == nil) != (c.says == "") || err != nil && (exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// Of three files for TLS one alone is a slip.
func TestPartsOfTLS(t *testing.T) {
	s, err := sources.Load(flagtest.Collective(t, "allreduce", "--tls-key", "x"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Read(s, settings.TrustFiles{Key: "x"}, "")
	if want := "--tls-key: TLS between nodes needs --tls-cert and --tls-ca as well"; exit.Code(err) != exit.Usage || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
