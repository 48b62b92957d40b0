package sim

import (
	"cmp"
	"sync"
	"testing"

	"gpurun/cudart"
)

// PTX is compiled once, however many devices load it at a time, for as long as
// text and name are the same: errors and faults of kernels give the name.
func TestCompiledOnce(t *testing.T) {
	text := func(entry string) []byte {
		return []byte(".version 7.8\n.target sm_80\n.address_size 64\n.entry " + entry + " { ret; }")
	}
	var loading sync.WaitGroup
	programs := make([]*compiled, 8)
	for i := range programs {
		loading.Go(func() { programs[i] = compile("once.ptx", text("k")) })
	}
	loading.Wait()
	for i, p := range programs {
		if p != programs[0] || p.program == nil {
			t.Errorf("caller %d of %d at a time got a program of its own, or none", i, len(programs))
		}
	}
	if again := compile("once.ptx", text("k")); again != programs[0] {
		t.Error("the same text was compiled again")
	}
	if other := compile("other.ptx", text("k")); other == programs[0] {
		t.Error("text of another name shares a program, whose errors give the first one's name")
	}
	if other := compile("once.ptx", text("l")); other == programs[0] {
		t.Error("other text of the same name shares a program")
	}
}

// loadKernel loads PTX and looks up a kernel.
func loadKernel(d cudart.Device, text, entry string) error {
	m, err := d.LoadModule("test.ptx", []byte(text))
	if err != nil {
		return err
	}
	_, err = m.Kernel(entry)
	return cmp.Or(err, m.Unload())
}

// What could not be read or compiled once cannot be the next time, for the same
// reason.
func TestNotCompiledTwice(t *testing.T) {
	for _, body := range []string{"@", "nonsense.u32 1;"} {
		text := []byte(".version 7.8\n.target sm_80\n.address_size 64\n.entry k { " + body + " ret; }")
		first, second := openWith(t, Options{}), openWith(t, Options{})
		err, again := loadKernel(first, string(text), "k"), loadKernel(second, string(text), "k")
		if err == nil || again == nil || err.Error() != again.Error() {
			t.Errorf("%s: loading it failed with %v, and then with %v", body, err, again)
		}
	}
}
