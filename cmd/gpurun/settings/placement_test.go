package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/rendezvous/transport/certtest"
)

// With certificates nodes need no secret; node 0's is for the address by which all
// call it.
func TestPlacementWithCertificates(t *testing.T) {
	files := certtest.New(t).Node(nil, "node0.example")
	s, err := Load(allreduce(t, "--nnodes", "2", "--master-addr", "node0.example",
		"--tls-cert", files.Cert, "--tls-key", files.Key, "--tls-ca", files.CA))
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Config()
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Placement(c)
	if err != nil {
		t.Fatal(err)
	}
	files.ServerName = "node0.example"
	if diff := cmp.Diff(&files, p.Trust.TLS.Files()); diff != "" {
		t.Error(diff)
	}
}

func TestNodeCount(t *testing.T) {
	for text, want := range map[string]NodeCount{"1": 1, "16": 16, "1:1": 1, "3:3": 3} {
		var got NodeCount
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "1:2", "x", "1:", ":", "2x"} {
		if err := new(NodeCount).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
