package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cmd/gpurun/flags/flagtest"
	"gpurun/cmd/gpurun/settings"
	"gpurun/rendezvous/transport/certtest"
)

// With certificates nodes need no secret; node 0's is for the address by which all
// call it.
func TestPlacementWithCertificates(t *testing.T) {
	files := certtest.New(t).Node(nil, "node0.example")
	s, err := settings.Load(flagtest.Collective(t, "allreduce", "--nnodes", "2", "--master-addr", "node0.example",
		"--tls-cert", files.Cert, "--tls-key", files.Key, "--tls-ca", files.CA))
	if err != nil {
		t.Fatal(err)
	}
	c, err := settings.Read(s)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Read(s, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	files.ServerName = "node0.example"
	if diff := cmp.Diff(&files, p.Credentials.TLS.Files()); diff != "" {
		t.Error(diff)
	}
}
