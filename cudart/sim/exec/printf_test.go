package exec

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

// The texts are those that an H100 prints for the same arguments.
func TestPrintf(t *testing.T) {
	print := func(format string, args string) string {
		text := ""
		for i := range len(format) {
			text += " " + string("0123456789"[format[i]/100]) + string("0123456789"[format[i]/10%10]) +
				string("0123456789"[format[i]%10]) + ","
		}
		text = strings.ReplaceAll(strings.ReplaceAll(text, " 0", " "), " 0", " ")
		return calling(`.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
			.global .b8 word[4] = {97, 98, 99, 0};
			.global .b8 format[] = {`+text+` 0};`, `.local .align 8 .b8 buffer[32]; setp.ne.u32 p, %t, 0; @p bra done;
			`+args+`
			{ .param .b64 p0; mov.u64 %x, format; st.param.b64 [p0], %x; .param .b64 p1; mov.u64 %x, buffer; cvta.local.u64 %x, %x; st.param.b64 [p1], %x;
			.param .b32 r0; call.uni (r0), vprintf, (p0, p1); ld.param.b32 %r, [r0]; }
			done:`)
	}
	for _, tt := range []struct{ format, args, want string }{
		{"plain 100%%\n", "", "plain 100%\n"},
		{
			"%d|%5d|%-5d|%05i|%+d", "st.local.v2.b32 [buffer], {-7, 42}; st.local.v2.b32 [buffer+8], {42, -42}; " +
				"st.local.b32 [buffer+16], 3;", "-7|   42|42   |-0042|+3",
		},
		{
			"%u %x %#X %o", "st.local.v2.b32 [buffer], {-1, 255}; st.local.v2.b32 [buffer+8], {255, 8};",
			"4294967295 ff 0XFF 10",
		},
		{
			"%lld %llu %hd", "st.local.b64 [buffer], -5; st.local.b64 [buffer+8], -1; st.local.b32 [buffer+16], 98303;",
			"-5 18446744073709551615 32767",
		},
		{
			"%05.3d|%-+6d|% d|%lu", "st.local.v2.b32 [buffer], {7, 8}; st.local.b32 [buffer+8], 9; st.local.b64 [buffer+16], -1;", "  007|+8    | 9|18446744073709551615",
		},
		{
			"%#x %#x %f %f", "st.local.v2.b32 [buffer], {0, 10}; st.local.b64 [buffer+8], 0dFFF8000000000000; " +
				"st.local.b64 [buffer+16], 0d7FF8000000000000;", "0 0xa -nan nan",
		},
		{
			"%f %.2e %g %8.3f", "st.local.b64 [buffer], 0d3FF8000000000000; st.local.b64 [buffer+8], 0d40F86A0000000000; " +
				"st.local.b64 [buffer+16], 0d40F86A0000000000; st.local.b64 [buffer+24], 0dBFE0000000000000;",
			"1.500000 1.00e+05 100000   -0.500",
		},
		{
			"%f %5g %F %a", "st.local.b64 [buffer], 0dFFF0000000000000; st.local.b64 [buffer+8], 0d7FF8000000000000; " +
				"st.local.b64 [buffer+16], 0d7FF0000000000000; st.local.b64 [buffer+24], 0d3FF8000000000000;",
			"-inf   nan INF 0x1.8p+0",
		},
		{
			"%c%3c|%s|%5s|%.2s", "st.local.v2.b32 [buffer], {65, 66}; mov.u64 %x, word; st.local.b64 [buffer+8], %x; " +
				"st.local.b64 [buffer+16], %x; st.local.b64 [buffer+24], %x;", "A  B|abc|  abc|ab",
		},
		{"%p %*d %y %", "st.local.b64 [buffer], 4096; st.local.v2.b32 [buffer+8], {4, 7};", "0x1000    7 %y %"},
	} {
		var out bytes.Buffer
		_, _, err := runCalling(t, print(tt.format, tt.args), Config{Output: &out})
		if err != nil || out.String() != tt.want {
			t.Errorf("%q: printed %q, %v; want %q", tt.format, out.String(), err, tt.want)
		}
	}
}

// With disorder printf sees what its thread has stored before.
func TestPrintfInDisorder(t *testing.T) {
	text := calling(`.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
		.global .b8 format[4] = {37, 117, 32, 0}; .global .align 8 .b8 arguments[256];`,
		`mov.u64 %x, arguments; mad.wide.u32 %x, %t, 8, %x; st.global.u32 [%x], 7; mov.u64 %y, format;
		setp.eq.u32 p, %t, 31; @p st.global.u8 [format+2], 33;
		{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %y; st.param.b64 [a], %x; call (r), vprintf, (f, a); }`)
	for seed := range uint64(4) {
		var out bytes.Buffer
		_, _, err := runCalling(t, text, Config{Output: &out, Disorder: rand.New(rand.NewPCG(seed, 0))})
		if want := strings.Repeat("7 ", 31) + "7!"; err != nil || out.String() != want {
			t.Errorf("seed %d: printed %q, %v; want %q", seed, out.String(), err, want)
		}
	}
}
