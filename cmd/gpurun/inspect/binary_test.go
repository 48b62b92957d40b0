package inspect

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const someModule = ".version 8.0\n.target sm_90\n.address_size 64\n.entry fromText { ret; }\n"

// object is an ELF file with symbols, those with other 0x10 being kernels, and one more section.
func object(machine elf.Machine, section string, contents []byte, symbols map[string]byte) []byte {
	names, table := []byte{0}, make([]byte, elf.Sym64Size)
	for _, name := range []string{"first", "helper", "second"} {
		if other, ok := symbols[name]; ok {
			table, _ = binary.Append(table, binary.LittleEndian, elf.Sym64{
				Name: uint32(len(names)), Info: elf.ST_INFO(elf.STB_GLOBAL, elf.STT_FUNC), Other: other, Shndx: 1,
			})
			names = append(append(names, name...), 0)
		}
	}
	sections := []byte("\x00.symtab\x00.strtab\x00" + section + "\x00")
	headers := []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_SYMTAB), Link: 2, Entsize: elf.Sym64Size, Size: uint64(len(table))},
		{Name: 9, Type: uint32(elf.SHT_STRTAB), Size: uint64(len(names))},
		{Name: 17, Type: uint32(elf.SHT_PROGBITS), Size: uint64(len(contents))},
		{Name: 9, Type: uint32(elf.SHT_STRTAB), Size: uint64(len(sections))},
	}
	at := uint64(64 + 64*len(headers))
	for i := range headers[1:] {
		headers[i+1].Off = at
		at += headers[i+1].Size
	}
	h := elf.Header64{
		Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1,
		Shoff: 64, Ehsize: 64, Shentsize: 64, Shnum: uint16(len(headers)), Shstrndx: 4,
	}
	var out bytes.Buffer
	for _, part := range []any{h, headers, table, names, contents, sections} {
		_ = binary.Write(&out, binary.LittleEndian, part)
	}
	return out.Bytes()
}

func fatbin(entries ...[]byte) []byte {
	body := bytes.Join(entries, nil)
	head, _ := binary.Append(nil, binary.LittleEndian,
		fatbinHeader{Magic: fatbinMagic, Version: 1, Header: 16, Bytes: uint64(len(body))})
	return append(head, body...)
}

func entry(kind uint16, arch, compressed uint32, body []byte) []byte {
	h := entryHeader{Kind: kind, Header: 64, Bytes: uint64(len(body)), Compressed: compressed, Arch: arch}
	head, _ := binary.Append(nil, binary.LittleEndian, h)
	return append(head, body...)
}

func TestMachineCode(t *testing.T) {
	cubin := object(machineCUDA, ".nv.shared.first", make([]byte, 48),
		map[string]byte{"first": 0x10, "helper": 0, "second": 0x10})
	fat := fatbin(entry(entryELF, 90, 0, cubin), entry(entryPTX, 90, 0, []byte(someModule+"\x00\x00")),
		entry(entryELF, 100, 7, []byte("packed!")))
	for name, tt := range map[string]struct {
		data    []byte
		kind    string
		kernels []string
		notes   int
		err     string
	}{
		"cubin": {cubin, "cubin", []string{"first/48", "second/0"}, 0, ""},
		"fatbin": {
			fat, "fatbin", []string{"first/48 sm_90", "second/0 sm_90", "fromText/0 PTX for sm_90 runs"}, 1, "",
		},
		"two fatbins": {
			append(append(bytes.Clone(fat), 0, 0, 0), fat...), "fatbin",
			[]string{
				"first/48 sm_90", "second/0 sm_90", "fromText/0 PTX for sm_90 runs", "first/48 sm_90", "second/0 sm_90",
				"fromText/0 PTX for sm_90 runs",
			},
			2, "",
		},
		"host object": {
			object(elf.EM_X86_64, ".nv_fatbin", fat, nil), "host",
			[]string{"first/48 sm_90", "second/0 sm_90", "fromText/0 PTX for sm_90 runs"},
			1, "",
		},
		"no GPU code":     {object(elf.EM_X86_64, ".data", nil, nil), "", nil, 0, "without GPU code"},
		"broken ELF":      {cubin[:100], "", nil, 0, "broken ELF"},
		"short fatbin":    {fat[:40], "", nil, 0, "broken fatbin"},
		"broken entry":    {fatbin(entry(entryELF, 90, 0, cubin)[:70]), "", nil, 0, "an entry does not fit"},
		"broken PTX":      {fatbin(entry(entryPTX, 90, 0, []byte(".target x"))), "", nil, 0, "want a target"},
		"a fatbin as PTX": {fatbin(entry(entryPTX, 90, 0, fat)), "", nil, 0, "the PTX for sm_90 is machine code"},
		"broken machine":  {fatbin(entry(entryELF, 90, 0, cubin[:90])), "", nil, 0, "the machine code for sm_90"},
	} {
		f := describe(Input{"file", tt.data})
		var got []string
		for _, k := range f.Kernels {
			text := fmt.Sprintf("%s/%d", k.Name, k.Shared)
			if k.Target != "" {
				text += " " + k.Target
			}
			if k.Runs {
				text += " runs"
			}
			got = append(got, text)
		}
		if f.Kind != tt.kind || len(f.Notes) != tt.notes || (f.Error == "") != (tt.err == "") ||
			!strings.Contains(f.Error, tt.err) {
			t.Errorf("%s: a %q with %d notes, error %q; want %q, %d, %q", name, f.Kind, len(f.Notes), f.Error, tt.kind, tt.notes,
				tt.err)
		}
		if diff := cmp.Diff(tt.kernels, got); tt.err == "" && diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	cubin := object(machineCUDA, ".nv.shared.first", make([]byte, 48), map[string]byte{"first": 0x10})
	f.Add(cubin)
	f.Add(fatbin(entry(entryELF, 90, 0, cubin), entry(entryPTX, 90, 0, []byte(someModule))))
	f.Add([]byte(someModule))
	f.Fuzz(func(_ *testing.T, data []byte) { describe(Input{"file", data}) })
}
