package ptx

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const header = ".version 7.8\n.target sm_80\n.address_size 64\n"

func mustParse(t *testing.T, text string) *Module {
	t.Helper()
	m, err := Parse("test.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// parseBody parses statements inside a kernel with a few registers.
func parseBody(t *testing.T, text string) *Function {
	t.Helper()
	m := mustParse(t, header+".visible .entry k(.param .u64 a)\n{\n"+
		".reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred p, q;\n"+text+"\n}\n")
	return read(t, m, &m.Entries[0].Function)
}

func read(t *testing.T, m *Module, f *Function) *Function {
	t.Helper()
	tree, err := m.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// ignored are the parts of a tree that tests do not compare.
var ignored = cmp.Options{
	cmpopts.IgnoreFields(Var{}, "Line"), cmpopts.IgnoreFields(Function{}, "Line"), cmpopts.IgnoreFields(Inst{}, "Line"),
	cmpopts.IgnoreUnexported(Module{}, Function{}), cmpopts.EquateEmpty(),
}

func TestModuleHeader(t *testing.T) {
	m := mustParse(t, `
// comment
.version 8.3 /* another
comment */
.target sm_90a, texmode_independent
.address_size 64
.file 1 "kernel.cu", 1700000000, 4096
.global .align 16 .b8 bytes[20] = {1, 0x2, 3U};
.const .f32 pi = 0f40490FDB;
.extern .shared .align 16 .b8 dynamic[];
.global .u64 addresses[3] = {bytes, generic(bytes)+8, helper};
.global .b8 parts[3] = {0xff(helper), 0xff00(generic(bytes)+4)};
.global .u16 grown[] = {1, 4/2};
.global .v2 .u32 pair;
.global .s32 matrix[2][3] = {{1, -1}, {2}};
.global .texref picture;
.global .samplerref filter = { addr_mode_0 = clamp_to_edge };
.global .attribute(.managed) .b32 managed;
.func .attribute(.unified(0x1, 2)) (.param .b32 result) helper(.reg .b32 x) .noreturn;
.func (.param .b32 result) helper(.reg .b32 x) { ret; }
.extern .func other(.param .align 8 .b8 x[24]) ;
.alias again, helper;
.section .debug_abbrev { .b8 1, 2 }
`)
	want := &Module{
		Name: "test.ptx", Major: 8, Minor: 3, Target: "sm_90a", SM: 90, Feature: "a",
		Vars: []*Var{
			{Name: "bytes", Space: Global, Type: Type{Bits, 8, 1}, Align: 16, Size: 20, Init: []byte{1, 2, 3}},
			{Name: "pi", Space: Const, Type: Type{Float, 32, 1}, Align: 4, Size: 4, Init: []byte{0xdb, 0x0f, 0x49, 0x40}},
			{Name: "dynamic", Space: Shared, Type: Type{Bits, 8, 1}, Align: 16, Extern: true},
			{
				Name: "addresses", Space: Global, Type: Type{Unsigned, 64, 1}, Align: 8, Size: 24, Init: make([]byte, 24),
				Refs: []Reloc{
					{Bytes: 8, Symbol: "bytes"},
					{Offset: 8, Bytes: 8, Symbol: "bytes", Addend: 8},
					{Offset: 16, Bytes: 8, Symbol: "helper"},
				},
			},
			{
				Name: "parts", Space: Global, Type: Type{Bits, 8, 1}, Align: 1, Size: 3, Init: make([]byte, 2),
				Refs: []Reloc{{Bytes: 1, Symbol: "helper"}, {Offset: 1, Bytes: 1, Symbol: "bytes", Addend: 4, Shift: 8}},
			},
			{Name: "grown", Space: Global, Type: Type{Unsigned, 16, 1}, Align: 2, Size: 4, Init: []byte{1, 0, 2, 0}},
			{Name: "pair", Space: Global, Type: Type{Unsigned, 32, 1}, Align: 8, Size: 8},
			{
				Name: "matrix", Space: Global, Type: Type{Signed, 32, 1}, Align: 4, Size: 24,
				Init: []byte{1, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
			},
			{Name: "picture", Space: Global, Align: 1, Opaque: "texref"},
			{Name: "filter", Space: Global, Align: 1, Opaque: "samplerref"},
			{Name: "managed", Space: Global, Type: Type{Bits, 32, 1}, Align: 4, Size: 4},
		},
		Functions: map[string]*Function{
			"helper": {
				Name: "helper", Defined: true, NoReturn: true,
				Results: []*Var{{Name: "result", Space: Param, Type: Type{Bits, 32, 1}, Align: 4, Size: 4}},
				Params:  []*Var{{Name: "x", Space: Param, Type: Type{Bits, 32, 1}, Align: 4, Size: 4, Register: true}},
			},
			"other": {
				Name: "other", Number: 1,
				Params: []*Var{{Name: "x", Space: Param, Type: Type{Bits, 8, 1}, Align: 8, Size: 24}},
			},
		},
		Aliases:   map[string]string{"again": "helper"},
		Addressed: map[string]bool{"bytes": true, "helper": true},
		Files:     map[int]string{1: "kernel.cu"},
	}
	if diff := cmp.Diff(want, m, ignored); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEntry(t *testing.T) {
	m := mustParse(t, header+`
.visible .entry first(
	.param .align 8 .b8 block[648],
	.param .u64 .ptr .global .align 16 pointer,
	.param .f32 x
)
.maxntid 512, 2, 1
.minnctapersm 1
{
	.shared .align 4 .b8 tile[128];
	.loc 1 12 3
	.pragma "nounroll";
	ret;
}
.entry second { exit; }
`)
	want := []*Function{
		{
			Name: "first",
			Params: []*Var{
				{Name: "block", Space: Param, Type: Type{Bits, 8, 1}, Align: 8, Size: 648},
				{Name: "pointer", Space: Param, Type: Type{Unsigned, 64, 1}, Align: 8, Size: 8, Pointer: true},
				{Name: "x", Space: Param, Type: Type{Float, 32, 1}, Align: 4, Size: 4},
			},
			Vars: []*Var{{Name: "tile", Space: Shared, Type: Type{Bits, 8, 1}, Align: 4, Size: 128}},
			Body: []Inst{{Text: "ret", Op: "ret", Guard: Guard{Reg: -1}}},
			Locs: []Loc{{File: 1, Line: 12, Inlined: -1}},
		},
		{Name: "second", Body: []Inst{{Text: "exit", Op: "exit", Guard: Guard{Reg: -1}, Loc: -1}}},
	}
	for i, e := range m.Entries {
		if diff := cmp.Diff(want[i], read(t, m, &e.Function), ignored); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if n := m.Entries[0].MaxThreads; n != 1024 {
		t.Errorf("at most %d threads, want 1024", n)
	}
}

func TestOperands(t *testing.T) {
	reg := func(i int) Operand { return Operand{Kind: Register, Reg: i} }
	imm := func(n int64) Operand { return Operand{Kind: Immediate, Bits: uint64(n)} }
	for text, want := range map[string][]Operand{
		"op %r1, %r2, -5;":            {reg(2), reg(3), imm(-5)},
		"op 0x10, 010, 0b11, 7U;":     {imm(16), imm(8), imm(3), imm(7)},
		"op 0f3F800000, -0f3F800000;": {{Kind: Float32, Bits: 0x3f800000}, {Kind: Float32, Bits: 0xbf800000}},
		"op 0d3FF0000000000000, 1.0;": {{Kind: Float64, Bits: 0x3ff0000000000000}, {Kind: Float64, Bits: 0x3ff0000000000000}},
		"op {%r1, _, 3}, [%rd1+-8];": {
			{Kind: Vector, Elems: []Operand{reg(2), {Kind: Sink}, imm(3)}},
			{Kind: Address, Elems: []Operand{reg(3)}, Offset: -8},
		},
		"op [a], [a+4], [%rd1], [16];": {
			{Kind: Address, Elems: []Operand{{Kind: Symbol, Name: "a"}}},
			{Kind: Address, Elems: []Operand{{Kind: Symbol, Name: "a"}}, Offset: 4},
			{Kind: Address, Elems: []Operand{reg(2)}},
			{Kind: Address, Elems: []Operand{imm(16)}},
		},
		"op p|q, _|q, %r1|p, !q;": {
			{Kind: Pair, Elems: []Operand{reg(0), reg(1)}},
			{Kind: Pair, Elems: []Operand{{Kind: Sink}, reg(1)}},
			{Kind: Pair, Elems: []Operand{reg(2), reg(0)}},
			{Kind: Register, Reg: 1, Negate: true},
		},
		"op 4*(2+1)-1, ~0, -(3<<2), 0xf0>>4|1, 7 % 4, [a+4*2-1], [%rd1+8+8];": {
			imm(11), imm(-1), imm(-12), imm(15), imm(3),
			{Kind: Address, Elems: []Operand{{Kind: Symbol, Name: "a"}}, Offset: 7},
			{Kind: Address, Elems: []Operand{reg(2)}, Offset: 16},
		},
		"op %tid.x, a+12, WARP_SZ;": {{Kind: Special, Name: "%tid.x"}, {Kind: Symbol, Name: "a", Offset: 12}, imm(32)},
	} {
		got := parseBody(t, text).Body[0].Args
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestInstructions(t *testing.T) {
	e := parseBody(t, "@!p  ld.global.L1::no_allocate.v2.b32\n\t{%r1,%r2}, [%rd1];\n@q ret;")
	want := []Inst{
		{
			Line: 9, Loc: -1, Text: "@!p  ld.global.L1::no_allocate.v2.b32\n\t{%r1,%r2}, [%rd1]", Op: "ld",
			Mods: []string{"global", "L1::no_allocate", "v2", "b32"}, Guard: Guard{Reg: 0, Negate: true},
		},
		{Line: 11, Loc: -1, Text: "@q ret", Op: "ret", Mods: []string{}, Guard: Guard{Reg: 1}},
	}
	if diff := cmp.Diff(want, e.Body, cmpopts.IgnoreFields(Inst{}, "Args")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, want := e.Body[0].Source(), "@!p ld.global.L1::no_allocate.v2.b32 {%r1,%r2}, [%rd1]"; got != want {
		t.Errorf("in messages it reads %q, want %q", got, want)
	}
}

// Inline assembly may declare the registers and labels of the code around it
// again: the nearest declaration counts.
func TestScopes(t *testing.T) {
	e := parseBody(t, `
top:
	mov.b32 %r1, %r2;
	{ .reg .b64 %r1; .reg .b32 x; mov.b64 %r1, 0; mov.b32 x, 1;
	top: bra top; bra end; }
	{ .reg .b32 x; mov.b32 x, 2; bra top; }
table: .branchtargets top, end;
	brx.idx %r1, table;
end:
	ret;`)
	var got []string
	for _, in := range e.Body {
		s := in.Op
		for _, a := range in.Args {
			switch a.Kind {
			case Register:
				s += " " + e.Regs[a.Reg].Type.String()
			case Label:
				s += " ->" + strings.Repeat("I", a.Target)
			case Targets:
				for _, target := range a.Table {
					s += " ->" + strings.Repeat("I", target)
				}
			}
		}
		got = append(got, s)
	}
	want := []string{
		"mov b32 b32", "mov b64", "mov b32", "bra ->III", "bra ->IIIIIIII", "mov b32", "bra ->", "brx b32 -> ->IIIIIIII",
		"ret",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(e.Regs); n != 7 { // p, q, %r1, %r2, and one of each scope's own
		t.Errorf("%d registers, want 7", n)
	}
}

// A vector register stands for its elements; an inner declaration of its name counts first.
func TestVectorRegisters(t *testing.T) {
	e := parseBody(t, `
	.reg .v4 .f32 v, u;
	.reg .v2 .b64 pair;
	ld.v4.f32 v, [%rd1];
	mov.v4.f32 {v.w, v.a, u.r, u.y}, u;
	mov.v2.b64 pair, {pair.y, pair.r};
	{ .reg .b32 v; mov.b32 v, 1; .reg .v2 .b32 u; mov.v2.b32 u, u; }
	mov.v4.f32 u, v;`)
	var got []string
	for _, in := range e.Body {
		var s string
		for _, a := range in.Args {
			for _, elem := range append([]Operand{a}, a.Elems...) {
				if elem.Kind == Register {
					s += e.Regs[elem.Reg].Name + ":" + e.Regs[elem.Reg].Type.String() + " "
				}
			}
		}
		got = append(got, strings.TrimSpace(s))
	}
	want := []string{
		"v.x:f32 v.y:f32 v.z:f32 v.w:f32 %rd1:b64",
		"v.w:f32 v.w:f32 u.x:f32 u.y:f32 u.x:f32 u.y:f32 u.z:f32 u.w:f32",
		"pair.x:b64 pair.y:b64 pair.y:b64 pair.x:b64",
		"v:b32", "u.x:b32 u.y:b32 u.x:b32 u.y:b32",
		"u.x:f32 u.y:f32 u.z:f32 u.w:f32 v.x:f32 v.y:f32 v.z:f32 v.w:f32",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	in := func(s string) string {
		return header + ".entry k(.param .u64 a) {\n.reg .b32 %r<9>; .reg .pred p;\n" + s + "\n}\n"
	}
	for text, want := range map[string]string{
		"":               "names no .target",
		".version seven": `want a version`,
		".target gfx90":  `want a target`,
		".version 7.8\n.target sm_80\n.address_size 32": "only 64-bit",
		header + ".global .b8 x[99999999999];":          "at most",
		header + ".global .b8 x[2] = {1, 2, 3};":        "longer than",
		header + ".global .align 3 .b8 x;":              "power of two",
		header + ".global .b9 x;":                       `unknown declaration ".b9"`,
		header + ".entry k {":                           "not closed",
		header + ".entry k { ret; } .entry k { ret; }":  "defined twice",
		header + ".section .debug { ":                   "not closed",
		in("mov.b32 %r1"):                               `want ","`,
		in("mov.b32 %r1, ;"):                            "want an operand",
		in("mov.b32 %r1, 1/0;"):                         "divided by 0",
		in("mov.b32 %r1, " + strings.Repeat("(", 100)):  "nested deeper",
		in("mov.b32 %r1, 1+;"):                          "want a number",
		in("mov.b32 %r1, 08;"):                          "not a number",
		in("mov.b32 {%r1, {%r2}}, 1;"):                  "cannot be nested",
		in("mov.b32 [%r1;"):                             `want "]"`,
		in(".reg .v4 .b64 v;"):                          "cannot have 4 elements",
		in(".reg .v3 .b32 v;"):                          "unknown register type",
		in(".reg .v2 .b32 v<9>;"):                       `want ","`,
		in("@%r1 ret;"):                                 "is not a predicate",
		in("x: x: ret;"):                                "defined twice",
		in("mov.b32 !a, 1;"):                            "negated",
		in(strings.Repeat("{", 100)):                    "nested deeper",
	} {
		_, err := Parse("bad.ptx", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "bad.ptx:") {
			t.Errorf("%q: got %v, want an error with %q", text, err, want)
		}
	}
}

// Braces of initializers follow the dimensions of the array.
func TestBadInitializers(t *testing.T) {
	for declaration, want := range map[string]string{
		".b8 x[2] = {{1}, {2}}":                     "bad.ptx:4: the initializer of x is nested deeper",
		".b8 x[] = {{1}}":                           "nested deeper",
		".b8 x = {{1}}":                             "nested deeper",
		".v2 .b8 x[2] = {{{1}}}":                    "nested deeper",
		".b8 x[2][2] = {{1, 2, 3}}":                 "longer than its row",
		".b8 x[1][2] = {{1}, {}}":                   "longer than its row",
		".b8 x[2][2] = {1, {2}}":                    "begins inside",
		".b8 x[2][]":                                "only the first bound",
		".b8 x[99999][99999]":                       "at most 1073741824 bytes",
		".b8 x[][9999999] = {{},{},{},{},{},{},{}}": "leave out at most",
		".b8 x" + strings.Repeat("[1]", 17):         "at most 16 dimensions",
	} {
		_, err := Parse("bad.ptx", []byte(header+".global "+declaration+";"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", declaration, err, want)
		}
	}
}

func TestInputThatIsNotText(t *testing.T) {
	for text, want := range map[string]string{
		"\x7fELF\x02\x01\x01\x33":              "x: this is an ELF file, such as a cubin, and no PTX text",
		"\x50\xed\x55\xba\x01\x00\x10\x00":     "x: this is a fatbin, and no PTX text",
		"BC\xc0\xde5\x14\x00\x00":              "x: this is a binary file, and no PTX text",
		"// a comment with \xc3\xa4\n.version": "x:2: want a version such as 7.8, found the end of the file: \".version\"",
	} {
		if _, err := Parse("x", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestErrorNamesLineAndText(t *testing.T) {
	_, err := Parse("bad.ptx", []byte(header+".entry k {\n.reg .b32 %r<9>;\n\tmov.b32   %r1, ]; // why\n}"))
	want := `bad.ptx:6: want an operand, found "]": "mov.b32 %r1, ]; // why"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(header + ".visible .entry k(.param .align 8 .b8 p[56]) .maxntid 512 { .reg .b32 %r<9>; L: @!%p1 bra L; ret; }")
	f.Add(header + ".global .align 4 .u32 x[3] = {1, y+2, generic(z)}; .extern .shared .b8 s[];")
	f.Add(header + ".entry k { .reg .pred p; setp.lt.s32 p|_, {1,2}, [3+-4]; t: .branchtargets a, b; brx.idx 1, t; }")
	f.Add("/* .file \"x\" .section .debug {{}} // 0f3F800000 -0d3FF0000000000000 1.5 0x 0b 09")
	f.Add(header + ".func (.param .b32 r) f(.reg .b32 a, .param .align 8 .b8 s[16]) .noreturn; .alias g, f; " +
		".extern .func v; .global .u64 t[] = {f, 0xff00(generic(g)+4)};")
	f.Add(header + ".entry k { { .param .b32 p0; pr : .callprototype (.param .b32 _) _ (); call.uni (p0), %rd, (), pr; " +
		"} c: .calltargets a, b; call c, (), c; .loc 1 2 3, function_name L+4, inlined_at 1 9 8\n ret; }")
	f.Add(header + ".entry k { .reg .v4 .f32 v; { .reg .v2 .b64 v; mov.v2.b64 v, {v.x, v.g}; } " +
		"mov.v4.f32 {v.w, v.a, v, 1}, [v]; }")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Parse("fuzz.ptx", []byte(text))
		if err != nil {
			return
		}
		var all []*Function
		for _, e := range m.Entries {
			all = append(all, &e.Function)
		}
		for _, f := range m.Functions {
			if f.Defined {
				all = append(all, f)
			}
		}
		for _, f := range all {
			f, err := m.Read(f)
			if err != nil {
				t.Fatalf("%s passed the check of its syntax, and then: %v", f.Name, err)
			}
			for _, in := range f.Body {
				for _, a := range in.Args {
					if a.Kind == Register && (a.Reg < 0 || a.Reg >= len(f.Regs)) {
						t.Errorf("register %d of %d", a.Reg, len(f.Regs))
					}
					if a.Kind == Label && (a.Target < 0 || a.Target > len(f.Body)) {
						t.Errorf("target %d of %d", a.Target, len(f.Body))
					}
				}
			}
		}
	})
}
