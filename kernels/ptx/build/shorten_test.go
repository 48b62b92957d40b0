package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShorten(t *testing.T) {
	const long = "// Generated\n\n.version 8.2\n\t.reg .pred \t%p<2>;\n$L__BB0_1:    // in loop\n" +
		"\tld.global.v2.b32 \t{%r1, %r2}, [%rd1];\n\t// begin inline asm\n\t@%p1 bra \t$L__BB0_1;\n\tret;\n"
	const short = ".version 8.2\n.reg .pred %p<2>;\n$L0_1:\nld.global.v2.b32 {%r1,%r2},[%d1];\n@%p1 bra $L0_1;\nret;\n"
	if diff := cmp.Diff(short, string(shorten([]byte(long)))); diff != "" {
		t.Error(diff)
	}
}
