package sim

import (
	"encoding/binary"
	"strings"
	"testing"

	"gpurun/cudart"
)

// A sender on one device and a receiver on another pass a number many times.
const messagePTX = `
.version 7.8
.target sm_80
.address_size 64
.visible .entry send(.param .u64 data)
{
	.reg .b64 %at;
	.reg .b32 %round, %seen;
	.reg .pred p;
	ld.param.u64 %at, [data];
	mov.u32 %round, 0;
next:
	add.u32 %round, %round, 1;
	st.global.u32 [%at], %round;
	FLAG [%at+256], %round;
wait:
	ld.acquire.sys.global.u32 %seen, [%at+512];
	setp.ne.u32 p, %seen, %round;
	@p bra wait;
	setp.lt.u32 p, %round, 50;
	@p bra next;
	ret;
}
.visible .entry receive(.param .u64 data)
{
	.reg .b64 %at;
	.reg .b32 %round, %seen, %value, %wrong;
	.reg .pred p;
	ld.param.u64 %at, [data];
	mov.u32 %round, 0;
	mov.u32 %wrong, 0;
next:
	add.u32 %round, %round, 1;
wait:
	POLL %seen, [%at+256];
	setp.ne.u32 p, %seen, %round;
	@p bra wait;
	ld.global.u32 %value, [%at];
	setp.ne.u32 p, %value, %round;
	@p add.u32 %wrong, %wrong, 1;
	st.global.u32 [%at+768], %wrong;
	st.release.sys.global.u32 [%at+512], %round;
	setp.lt.u32 p, %round, 50;
	@p bra next;
	ret;
}
`

// passMessages returns how many messages were not seen behind their flag, which is stored by
// one instruction and polled by another.
func passMessages(t *testing.T, seed uint64, flag, poll string) uint32 {
	t.Helper()
	devices := []*Device{openWith(t, Options{Seed: seed}), openWith(t, Options{Seed: seed})}
	members := shareMembers(t, devices, 1024)
	var streams []cudart.Stream
	for i, d := range devices {
		m, err := d.LoadModule("message.ptx", []byte(strings.NewReplacer("FLAG", flag, "POLL", poll).Replace(messagePTX)))
		if err != nil {
			t.Fatal(err)
		}
		k, err := m.Kernel([]string{"send", "receive"}[i])
		if err != nil {
			t.Fatal(err)
		}
		s := mustStream(t, d)
		if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1}, params(uint64(members[i][0]))); err != nil {
			t.Fatal(err)
		}
		streams = append(streams, s)
	}
	for _, s := range streams {
		if err := synchronize(t, s); err != nil {
			t.Fatal(err)
		}
	}
	var wrong [4]byte
	if err := streams[1].Download(wrong[:], members[1][0]+768); err != nil {
		t.Fatal(err)
	}
	return binary.LittleEndian.Uint32(wrong[:])
}

func TestSeedsFindAMissingOrder(t *testing.T) {
	const release, acquire = "st.release.sys.global.u32", "ld.acquire.sys.global.u32"
	for what, order := range map[string][2]string{
		"released":                     {"st.relaxed.sys.global.u32", acquire},
		"released to the other device": {"st.release.gpu.global.u32", acquire},
		"fenced for the other device":  {"fence.acq_rel.gpu; st.relaxed.sys.global.u32", acquire},
		"acquired":                     {release, "ld.relaxed.sys.global.u32"},
	} {
		missed := uint32(0)
		for seed := uint64(1); seed <= 8 && missed == 0; seed++ {
			missed = passMessages(t, seed, order[0], order[1])
		}
		if missed == 0 {
			t.Errorf("no seed finds that the flag is not %s", what)
		}
		if n := passMessages(t, 0, order[0], order[1]); n > 0 {
			t.Errorf("without a seed, %d messages were missed behind their flag", n)
		}
	}
	for seed := range uint64(9) {
		if n := passMessages(t, seed, release, acquire); n > 0 {
			t.Errorf("seed %d: %d messages were missed behind their flag, which was released and acquired", seed, n)
		}
	}
}
