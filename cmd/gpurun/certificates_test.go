package main

import (
	"path/filepath"

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
