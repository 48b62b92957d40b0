package kernelfile

import (
	"encoding/hex"
	"runtime"
	"strings"
	"testing"
)

func TestElements(t *testing.T) {
	text := "collective = 'custom'\nmodule = 'x.ptx'\ngrid = 1\n" +
		"[buffers.pad]\nsize = 8\ninit = {u16 = '256 * i + rank'}\n" +
		"[buffers.flags]\nsize = 8\ninit = {u32 = 'world'}\n[buffers.zero]\nsize = 3\ninit = 0\n" +
		"[buffers.o]\nrole = 'output'\ntype = 'bf16'\nsize = 8\nexpect = 'i / 2 - rank'\n"
	f := mustParse(t, text)
	for i, want := range []string{"01020103", "03000000", "0000", "0000003f"} {
		to := make([]byte, len(want)/2)
		compute := f.Initial
		if f.Buffers[i].Role == Output {
			compute = f.Expected
		}
		if err := compute(&f.Buffers[i], aCall(), 2, to); err != nil || hex.EncodeToString(to) != want {
			t.Errorf("%s: %x, %v; want %s", f.Buffers[i].Name, to, err, want)
		}
	}
	if err := f.Initial(&f.Buffers[1], aCall(), 0, make([]byte, 7)); err == nil {
		t.Error("7 bytes are no whole number of u32")
	}
	if err := f.Initial(&f.Buffers[0], aCall(), 255, make([]byte, 4)); err == nil {
		t.Error("u16 holds 65537")
	}
	_, err := Parse("x.toml", []byte(strings.Replace(text, "bf16", "f8e4m3", 1)))
	if err == nil || !strings.Contains(err.Error(), "no expression gives elements f8e4m3; write expect_file") {
		t.Error(err)
	}
}

func TestTolerances(t *testing.T) {
	text := "collective = 'custom'\nmodule = 'x.ptx'\ngrid = 1\n" +
		"[buffers.o]\nrole = 'output'\ntype = 'float'\nsize = 8\nexpect = 1\n[contract]\n"
	for contract, want := range map[string][2]float64{
		"":                                 {},
		"tolerance = 0.5":                  {0.5, 0},
		"absolute_tolerance = 'world / 8'": {0, 0.5},
		"tolerance = 1e-3\nabsolute_tolerance = 'count'": {1e-3, 1024},
	} {
		call := aCall()
		call.World, call.Count = 4, 1024
		relative, absolute, err := mustParse(t, text+contract).Tolerances(call)
		if got := [2]float64{relative, absolute}; got != want || err != nil {
			t.Errorf("%s: %v, %v; want %v", contract, got, err, want)
		}
	}
	for _, key := range []string{"tolerance", "absolute_tolerance"} {
		f := mustParse(t, text+key+" = '1 - count'")
		want := `x.toml:10: for rank 1 of 4, "1 - count" is -1023, and a tolerance is at least 0`
		if err := f.Accepts(Call{Rank: 1, World: 4, Count: 1024, Type: "float"}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The limits of a file keep it cheap: none of these takes more than a few megabytes.
func TestLargeFilesAreCheap(t *testing.T) {
	list := func(item string, n int) string {
		return fileHead + "args = [" + strings.Repeat(item+", ", n) + "]" + fileTail
	}
	for name, text := range map[string]string{
		"arguments":   list("{u8 = 1}", 900),
		"structs":     list("{struct = ["+strings.Repeat("{u8 = 1},", 900)+"]}", 13),
		"sums":        list("{u32 = '"+strings.Repeat("1+", 400)+"1'}", 120),
		"parentheses": list("{u32 = '"+strings.Repeat("(", 490)+"1"+strings.Repeat(")", 490)+"'}", 120),
		"signs":       list("{u32 = '"+strings.Repeat("-", 990)+"1'}", 120),
		"keys":        fileHead + strings.Repeat("a.b.c.d.e.f.g.h.i.j.k.l.m = 1\n", 4000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Parse("x.toml", []byte(text))
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}
