package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"gpurun/rendezvous/transport/certtest"
)

// setCertificates gives a script two folders with node.pem, node.key and ca.pem:
// CERTS is of a node on this machine, or node 0 in a namespace, STRANGER of another
// authority's.
func setCertificates(env *testscript.Env, nodes, strangers *certtest.Authority) {
	for name, a := range map[string]*certtest.Authority{"CERTS": nodes, "STRANGER": strangers} {
		env.Setenv(name, filepath.Dir(a.Node(nil, "localhost", "127.0.0.1", "192.0.2.10").Cert))
	}
}

// With certificates nodes need no secret; node 0's is for the address by which all
// call it.
func TestPlacementWithCertificates(t *testing.T) {
	files := certtest.New(t).Node(nil, "node0.example")
	s, err := loadSettings(parsed(t, "--nnodes", "2", "--master-addr", "node0.example",
		"--tls-cert", files.Cert, "--tls-key", files.Key, "--tls-ca", files.CA).Flags())
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.config()
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.placement(c)
	if err != nil {
		t.Fatal(err)
	}
	files.ServerName = "node0.example"
	if diff := cmp.Diff(&files, p.trust.tls.Files()); diff != "" {
		t.Error(diff)
	}
}
