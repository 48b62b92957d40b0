package sim

import (
	"strings"
	"testing"

	"gpurun/cudart"
)

// A device has the limits of its compute capability, and loads PTX up to it.
func TestArch(t *testing.T) {
	for name, want := range map[string]struct {
		shared  int // KB of a block
		loads   string
		refuses string
	}{
		"8.0":  {163, "sm_80", "sm_86"},
		"8.6":  {99, "sm_86", "sm_89"},
		"8.9":  {99, "sm_89", "sm_90a"},
		"9.0":  {227, "sm_90a", "sm_100"},
		"10.0": {227, "sm_100a", "sm_103"},
	} {
		major, minor, ok := ParseArch(name)
		if !ok {
			t.Fatalf("%s is unknown", name)
		}
		d := openWith(t, Options{Major: major, Minor: minor})
		checkShared(t, d, want.shared<<10)
		text := ".version 8.8\n.target TARGET\n.address_size 64\n.visible .entry k() { ret; }\n"
		if _, err := d.LoadModule("good", []byte(strings.Replace(text, "TARGET", want.loads, 1))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, err := d.LoadModule("bad", []byte(strings.Replace(text, "TARGET", want.refuses, 1)))
		if !isResult(err, cudart.ErrNoBinaryForGPU) ||
			!strings.Contains(err.Error(), "--sim-arch can be 8.0, 8.6, 8.9, 9.0, 10.0") {
			t.Errorf("%s: %s gives %v", name, want.refuses, err)
		}
	}
	if _, _, ok := ParseArch("9"); ok {
		t.Error("9 is a compute capability")
	}
}
