// Package nvsentinelv1 is the generated code of NVSentinel's health event protocol, as far as gpurun speaks it. The
// protocol itself is described in healthevent.proto.
package nvsentinelv1

//go:generate sh ../../../../rendezvous/v1/generate.sh healthevent
