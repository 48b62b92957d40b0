// Package elasticv1 is the generated code of the elastic rendezvous's
// protocol, version 1. The protocol itself is described in elastic.proto.
package elasticv1

//go:generate sh ../../v1/generate.sh elastic
