package sim

import (
	"encoding/binary"
	"strings"
	"testing"

	"gpurun/cudart"
)

// dependentKernels are pairs for programmatic dependent launch. The producer lets
// its dependents go, works on for a while, and then writes; consumers read
// what it wrote, one after waiting for it and one at once.
const dependentKernels = `
.version 7.8
.target sm_90
.address_size 64
.visible .entry producer(.param .u64 data)
{
	.reg .b64 %at;
	.reg .b32 %i, %v;
	.reg .pred p;
	ld.param.u64 %at, [data];
	TRIGGER
	mov.u32 %i, 0;
loop:
	add.u32 %i, %i, 1;
	setp.lt.u32 p, %i, 20000;
	@p bra loop;
	ld.global.u32 %v, [%at];
	add.u32 %v, %v, 1;
	st.global.u32 [%at], %v;
	ret;
}
.visible .entry consumer(.param .u64 data)
{
	.reg .b64 %at;
	.reg .b32 %v;
	ld.param.u64 %at, [data];
	griddepcontrol.launch_dependents;
	WAIT
	ld.global.u32 %v, [%at];
	st.global.u32 [%at+4], %v;
	ret;
}
`

// observe replays a graph in which each producer is followed by a consumer, and
// returns how often the producer had run by the consumer's account.
func observe(t *testing.T, trigger, wait string, between func(s cudart.Stream, data cudart.DevicePtr) error,
	pdl bool,
) uint32 {
	t.Helper()
	d := openDevice(t)
	text := strings.NewReplacer("TRIGGER", trigger, "WAIT", wait).Replace(dependentKernels)
	m, err := d.LoadModule("dependent.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, data := mustStream(t, d), mustMalloc(t, d, 8)
	var kernels [2]cudart.Kernel
	for i, name := range []string{"producer", "consumer"} {
		if kernels[i], err = m.Kernel(name); err != nil {
			t.Fatal(err)
		}
	}
	const replays = 3
	g, err := s.Capture(func() error {
		shape := cudart.Launch{Blocks: 1, Threads: 1}
		if err := s.Launch(kernels[0], shape, params(uint64(data))); err != nil {
			return err
		}
		if between != nil {
			if err := between(s, data); err != nil {
				return err
			}
		}
		shape.PDL = pdl
		return s.Launch(kernels[1], shape, params(uint64(data)))
	})
	if err != nil {
		t.Fatal(err)
	}
	for range replays {
		if err := g.Launch(s); err != nil {
			t.Fatal(err)
		}
	}
	var got [8]byte
	if err := s.Download(got[:], data); err != nil {
		t.Fatal(err)
	}
	if n := binary.LittleEndian.Uint32(got[:]); n != replays {
		t.Fatalf("the producer ran %d times, want %d", n, replays)
	}
	return binary.LittleEndian.Uint32(got[4:])
}

func TestDependentLaunchOverlaps(t *testing.T) {
	const trigger, wait = "griddepcontrol.launch_dependents;", "griddepcontrol.wait;"
	fill := func(s cudart.Stream, data cudart.DevicePtr) error { return s.Fill(data+4, 9, 1) }
	for _, tt := range []struct {
		name          string
		trigger, wait string
		between       func(s cudart.Stream, data cudart.DevicePtr) error
		pdl           bool
		want          uint32
	}{
		{"a consumer that waits", trigger, wait, nil, true, 3},
		{"a consumer that forgets to", trigger, "", nil, true, 2},
		{"a producer that never lets go", "", "", nil, true, 3},
		{"a consumer launched without PDL", trigger, "", nil, false, 3},
		{"a wait without PDL", trigger, wait, nil, false, 3},
		{"a fill between them", trigger, "", fill, true, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := observe(t, tt.trigger, tt.wait, tt.between, tt.pdl); got != tt.want {
				t.Errorf("the consumer saw %d runs of the producer, want %d", got, tt.want)
			}
		})
	}
}

// A dependent kernel begins when all blocks let it, and not before.
func TestDependentLaunchNeedsAllBlocks(t *testing.T) {
	text := strings.NewReplacer("TRIGGER", `
		mov.u32 %v, %ctaid.x;
		setp.eq.u32 p, %v, 2;
		@p bra work;
		griddepcontrol.launch_dependents;
	work:`, "WAIT", "").Replace(dependentKernels)
	d := openDevice(t)
	m, err := d.LoadModule("dependent.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, data := mustStream(t, d), mustMalloc(t, d, 8)
	g, err := s.Capture(func() error {
		for i, name := range []string{"producer", "consumer"} {
			k, err := m.Kernel(name)
			if err != nil {
				return err
			}
			if err := s.Launch(k, cudart.Launch{Blocks: []int{3, 1}[i], Threads: 1, PDL: true},
				params(uint64(data))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Launch(s); err != nil {
		t.Fatal(err)
	}
	var got [8]byte
	if err := s.Download(got[:], data); err != nil {
		t.Fatal(err)
	}
	if before := binary.LittleEndian.Uint32(got[4:]); before == 0 {
		t.Error("the consumer began before block 2 of the producer had done anything")
	}
}

func TestDependentLaunchNeedsTheHardware(t *testing.T) {
	d := openWith(t, Options{Major: 8, Minor: 9})
	k, s := mustKernel(t, d, "vector_add"), mustStream(t, d)
	err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1, PDL: true}, params(1, 2, 3, 0))
	if !isResult(err, cudart.ErrNotSupported) {
		t.Errorf("capability 8.9: %v", err)
	}
	const text = ".version 7.8\n.target sm_80\n.address_size 64\n.entry k { griddepcontrol.wait; ret; }"
	if err := loadKernel(d, text, "k"); !isResult(err, cudart.ErrInvalidPTX) {
		t.Errorf("griddepcontrol for sm_80: %v", err)
	}
}
