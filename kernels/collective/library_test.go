package collective

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

// recorder is a library that records the calls that it gets.
type recorder struct {
	refusal error
	calls   []LibraryCall
}

func (r *recorder) Supports(string, DType, Op) error { return r.refusal }

func (r *recorder) Enqueue(_ cudart.Stream, call LibraryCall) error {
	r.calls = append(r.calls, call)
	return nil
}

func fromLibrary(s Shape) *Algorithm {
	return FromLibrary("thing", s, "lib", "a library", func() []Op { return []Op{Sum} },
		func(d DType) bool { return d.Kind == FloatingPoint })
}

func commWith(libraries map[string]Library) *Comm {
	c := &Comm{cfg: Config{Libraries: libraries}, base: Params{Rank: 1, World: 2}}
	c.base.Peers[1] = 0x1000
	return c
}

func TestLibraryGetsAddresses(t *testing.T) {
	a, r := fromLibrary(Shape{Reduces: true, Root: RootIsDestination}), &recorder{}
	c := commWith(map[string]Library{"lib": r})
	call := Call{Send: 0x10, Recv: 0x20, Count: 3, DType: Half, Op: Sum, Root: 1}
	if err := errors.Join(c.Prepare(nil, a, call), a.Enqueue(c, nil, call)); err != nil {
		t.Fatal(err)
	}
	want := []LibraryCall{{Collective: "thing", Send: 0x1010, Recv: 0x1020, Count: 3, DType: Half, Op: Sum, Root: 1}}
	if diff := cmp.Diff(want, r.calls); diff != "" {
		t.Error(diff)
	}
}

// onlyLoads is a device that notes which modules are loaded, and has none.
type onlyLoads struct {
	cudart.Device
	loaded []string
}

func (d *onlyLoads) LoadModule(name string, _ []byte) (cudart.Module, error) {
	d.loaded = append(d.loaded, name)
	return nil, errors.New("there is none")
}

// Auxiliary kernels of a library's algorithm are loaded before the call can wait for a peer.
func TestPreparingLoadsWhatServesALibrary(t *testing.T) {
	a, d := fromLibrary(Shape{}), &onlyLoads{}
	a.Others = Copies("thing", "meet", SM80)
	c := commWith(map[string]Library{"lib": &recorder{}})
	c.cfg.Device, c.cfg.Source = d, func(string) ([]byte, error) { return nil, nil }
	if err := c.Prepare(nil, a, Call{}); err == nil {
		t.Error("a module that cannot be loaded is not missed")
	}
	if diff := cmp.Diff([]string{"thing_meet"}, d.loaded); diff != "" {
		t.Error(diff)
	}
}

func TestLibraryIsAskedForNothingOnlyIfThatMeansSomething(t *testing.T) {
	for shape, want := range map[Shape]int{{}: 0, {Empty: true}: 1} {
		r := &recorder{}
		if err := fromLibrary(shape).Enqueue(commWith(map[string]Library{"lib": r}), nil,
			Call{DType: Int8, Op: None}); err != nil {
			t.Fatal(err)
		}
		if len(r.calls) != want {
			t.Errorf("%+v: %d calls, want %d", shape, len(r.calls), want)
		}
	}
}

func TestLibraryThatIsNotOpenOrUnable(t *testing.T) {
	a, call := fromLibrary(Shape{Reduces: true}), Call{Count: 1, DType: Float, Op: Sum}
	refusal := errors.New("too old")
	r := &recorder{refusal: refusal}
	if err := commWith(nil).Prepare(nil, a, call); err == nil ||
		err.Error() != "thing lib cannot run: the library is not open" {
		t.Errorf("got %v", err)
	}
	c := commWith(map[string]Library{"lib": r})
	if err := a.Enqueue(c, nil, call); !errors.Is(err, refusal) || len(r.calls) != 0 {
		t.Errorf("got %v, and %d calls", err, len(r.calls))
	}
	if !a.Supports(Double, Sum, NoEpilogue) || a.Supports(Int8, Sum, NoEpilogue) || a.Supports(Float, Max, NoEpilogue) {
		t.Errorf("kernels %+v", a.Kernels)
	}
}
