// Package rendezvousv1 is the generated code of the rendezvous protocol,
// version 1. The protocol itself is described in rendezvous.proto.
package rendezvousv1

//go:generate sh generate.sh rendezvous
