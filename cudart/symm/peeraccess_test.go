package symm

import (
	"errors"
	"testing"

	"gpurun/cudart"
)

// refusing is a fake device that cannot map its peers' memory.
func refusing(j *job, code cudart.Result) cudart.Device {
	refusal := &cudart.Error{Op: "cuIpcOpenMemHandle_v2", Code: code}
	return withHost{byHandle{&device{fabric: j.fabric, openErr: refusal}}}
}

// TestUnreachablePeerIsKnownEverywhere has one rank see the refusal, and all of
// them turn to host memory.
func TestUnreachablePeerIsKnownEverywhere(t *testing.T) {
	for _, code := range []cudart.Result{errMapFailed, errPeerAccessUnsupported, errTooManyPeers, cudart.ErrNotSupported} {
		before := openFiles(t)
		j := newJob(3, hosts)
		j.devices[1] = refusing(j, code)
		_, errs := j.allocate(t)
		for rank, err := range errs {
			var unreachable *NoPeerAccessError
			if !errors.As(err, &unreachable) || unreachable.Rank != 1 || unreachable.Peer != 0 {
				t.Errorf("rank %d: %v is %+v", rank, err, unreachable)
			}
			if got := errors.Is(err, code); got != (rank == 1) {
				t.Errorf("rank %d: errors.Is of the code is %v", rank, got)
			}
		}
		j.wantClean(t, before)
		memories, errs := j.with(Options{Kind: Host}).allocate(t)
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		errs = j.each(func(rank int) error { return memories[rank].Free(t.Context()) })
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
		j.wantClean(t, before)
	}
}

func TestOtherFailuresAreNotUnreachable(t *testing.T) {
	for name, breaks := range map[string]func(*job){
		"out of memory": func(j *job) { j.devices[1] = refusing(j, cudart.ErrOutOfMemory) },
		// Rank 1 alone knows of its refusal, since the reports do not all arrive.
		"no verdict": func(j *job) {
			j.devices[1] = refusing(j, errPeerAccessUnsupported)
			j.members[2].tamper = func(round string, mine []byte) []byte {
				if round == stepMapped {
					return []byte("garbage")
				}
				return mine
			}
		},
	} {
		j := newJob(3, hosts)
		breaks(j)
		_, errs := j.allocate(t)
		for rank, err := range errs {
			if err == nil || errors.As(err, new(*NoPeerAccessError)) {
				t.Errorf("%s: rank %d: %v", name, rank, err)
			}
		}
	}
}

// opinionated is a fake device that reaches one peer only.
type opinionated struct{ *device }

func (opinionated) CanAccessPeer(peer cudart.Info) (bool, error) {
	if peer.UUID == "" {
		return false, cudart.ErrSystemNotReady
	}
	return peer.UUID == "GPU-1", nil
}

func TestCanAccessPeerAsksTheDevice(t *testing.T) {
	for _, test := range []struct {
		dev  cudart.Device
		peer string
		want bool
		err  error
	}{
		{byHandle{&device{}}, "GPU-2", true, nil},
		{opinionated{&device{}}, "GPU-1", true, nil},
		{opinionated{&device{}}, "GPU-2", false, nil},
		{opinionated{&device{}}, "", false, cudart.ErrSystemNotReady},
	} {
		got, err := CanAccessPeer(test.dev, cudart.Info{UUID: test.peer})
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%T to %q: got %v, %v", test.dev, test.peer, got, err)
		}
	}
}
