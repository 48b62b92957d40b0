package symm

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// CanAccessPeer reports whether dev can map the memory of a peer's device, as far as it can be known
// beforehand. A device without this method, such as a simulated one, can access every peer.
func CanAccessPeer(dev cudart.Device, peer cudart.Info) (bool, error) {
	d, ok := dev.(interface {
		CanAccessPeer(peer cudart.Info) (bool, error)
	})
	if !ok {
		return true, nil
	}
	return d.CanAccessPeer(peer)
}

// NoPeerAccessError says that memory could not be shared because the GPU of Rank
// has no access to that of Peer. [Allocate] returns it on all ranks or on none,
// as far as the reports arrive, so that all of them can fall back to [Host].
type NoPeerAccessError struct {
	Rank, Peer int
	Err        error
}

func (e *NoPeerAccessError) Error() string { return e.Err.Error() }

// Unwrap is the rank's whole failure; its codes are known on that rank only.
func (e *NoPeerAccessError) Unwrap() error { return e.Err }

// noPeerAccess marks a backend's error as the want of peer access.
type noPeerAccess struct{ error }

func (e noPeerAccess) Unwrap() error { return e.error }

// refusal is noPeerAccess between two ranks. It becomes an [NoPeerAccessError]
// when all ranks know of it.
type refusal struct {
	rank, peer int
	err        error
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the GPU of rank %d cannot reach the GPU of rank %d peer to peer "+
		"(nvidia-smi topo -p2p r shows which GPUs can): %v", r.rank, r.peer, r.err)
}

func (r *refusal) Unwrap() error { return r.err }

// explain says whose memory a rank could not map.
func explain(rank, peer int, err error) error {
	if errors.As(err, new(noPeerAccess)) {
		return &refusal{rank, peer, err}
	}
	return fmt.Errorf("mapping memory of rank %d: %w", peer, err)
}
