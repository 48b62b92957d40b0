package driver

import (
	"testing"

	"gpurun/cudart"
)

func TestCanReach(t *testing.T) {
	f := newFake(t)
	infos := must[[]cudart.Info](t)(f.backend().devicesByCUDA())
	hidden := cudart.Info{UUID: "GPU-ffffffff-0000-0000-0000-000000000000"}
	for _, test := range []struct {
		from int
		to   cudart.Info
		want bool
		asks bool // the driver
	}{
		{0, infos[0], true, false},
		{0, infos[1], false, true},
		{1, infos[0], true, true},
		{0, hidden, true, false},
		{0, cudart.Info{}, true, false},
	} {
		d := must[cudart.Device](t)(f.backend().Open(test.from)).(*device)
		f.calls()
		got := must[bool](t)(d.CanAccessPeer(test.to))
		calls := f.calls()
		if asked := len(calls) > 0 && calls[len(calls)-1] != "cuInit 0"; got != test.want || asked != test.asks {
			t.Errorf("from GPU %d to %s: got %v after %q", test.from, test.to.UUID, got, calls)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCanReachFails(t *testing.T) {
	f := newFake(t)
	d := f.open()
	peer := must[[]cudart.Info](t)(f.backend().devicesByCUDA())[0]
	f.failNext("cuDeviceCanAccessPeer", cudart.ErrSystemNotReady)
	_, err := d.CanAccessPeer(peer)
	wantCode(t, err, cudart.ErrSystemNotReady, "asking whether GPU 1 can reach another")
}

func TestGPUCanReach(t *testing.T) {
	g := openGPU(t)
	for _, peer := range must[[]cudart.Info](t)(New().Devices()) {
		can := must[bool](t)(g.dev.CanAccessPeer(peer))
		t.Logf("GPU 0 reaches GPU %d: %v", peer.Ordinal, can)
		if peer.Ordinal == 0 && !can {
			t.Error("GPU 0 does not reach itself")
		}
	}
	if !must[bool](t)(g.dev.CanAccessPeer(cudart.Info{UUID: "GPU-ffffffff-0000-0000-0000-000000000000"})) {
		t.Error("a hidden GPU counts as out of reach")
	}
}
