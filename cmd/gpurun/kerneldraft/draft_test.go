package kerneldraft

import (
	"fmt"
	"testing"

	"gpurun/cudart/sim/ptx"
	"gpurun/kernels/kernelfile"
)

// module is PTX with one kernel.
func module(name, params, bounds string) string {
	return fmt.Sprintf(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry %s(%s)%s { ret; }\n",
		name, params, bounds)
}

// A draft of any parameters is a kernel file whose arguments fit them.
func TestDraftsFit(t *testing.T) {
	for _, params := range []string{
		"", ".param .u64 a", ".param .u64 .ptr .global .align 16 a, .param .s32 n, .param .u8 flag, .param .f64 x",
		".param .b64 a, .param .b32 n, .param .u16 h, .param .f32 x", ".param .align 4 .b8 s[12]",
		".param .align 8 .b8 s[64], .param .u32 n", ".param .align 64 .b8 map[128], .param .u64 a",
		".param .align 16 .b8 s[16], .param .align 1 .b8 c[3]", ".param .align 4 .b8 s[32000], .param .u64 a",
		".param .align 8 .b8 s[4096], .param .u64 a",
	} {
		code := []byte(module("_Z4tallIxEvv", params, ".maxntid 128"))
		text, err := Draft("folder/code.ptx", code, "")
		if err != nil {
			t.Errorf("%s: %v", params, err)
			continue
		}
		f, err := kernelfile.Parse("folder/code.toml", text)
		if err != nil {
			t.Errorf("%s: %v\n%.500s", params, err, text)
			continue
		}
		m, err := ptx.Parse("code.ptx", code)
		if err != nil {
			t.Fatal(err)
		}
		entry := []kernelfile.Param{}
		for _, p := range m.Entries[0].Params {
			entry = append(entry, kernelfile.Param{Bytes: int(p.Size), Align: p.Align})
		}
		bundle := &kernelfile.Bundle{Modules: map[string]kernelfile.Module{
			"code.ptx": {Entries: map[string][]kernelfile.Param{"_Z4tallIxEvv": entry}},
		}}
		call := kernelfile.Call{World: 2, Type: "float", Op: "sum", ElementBytes: 4, Count: 64, SMs: 8}
		memory, err := f.NewMadeUp(call)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := f.Bind(call, bundle, memory)
		if err != nil {
			t.Errorf("%s: %v", params, err)
		} else if got := steps[0].Launch.Block(); got.X != 128 {
			t.Errorf("%s: a block of %v threads, want 128 by .maxntid", params, got)
		}
	}
}

func TestTooManyParameters(t *testing.T) {
	for _, params := range []string{".param .b8 s[99999999999]", ".param .b8 s[32000], .param .b8 r[765]"} {
		if _, err := Draft("code.ptx", []byte(module("k", params, "")), ""); err == nil {
			t.Errorf("%s: it is drafted", params)
		}
	}
}

func FuzzDraft(f *testing.F) {
	f.Add([]byte(module("_Z5scalePfPKfi4Pair",
		".param .u64 a, .param .u64 b, .param .u32 c, .param .align 4 .b8 d[12]", "")))
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, code []byte) {
		text, err := Draft("code.ptx", code, "")
		if err != nil {
			return
		}
		if _, err := kernelfile.Parse("code.toml", text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	})
}
