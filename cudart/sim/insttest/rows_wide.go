package insttest

// addWide adds moves, accesses and atomic operations on .b128: of {a, b}, and of b and c in memory.
func (l *list) addWide() {
	add := func(text string, want Func) {
		l.add("b64 b64 b64 b64", "{ .reg .b128 x, y, z; .reg .b64 low; mov.b128 x, {a, b}; "+text+" }", want)
	}
	const place, high = "[%base+16]", " mov.b128 {low, d}, y;"
	first := func(a, _, _ uint64) uint64 { return a }
	second := func(_, b, _ uint64) uint64 { return b }
	third := func(_, _, c uint64) uint64 { return c }
	add("mov.b128 y, x;"+high, second)
	add("mov.b128 y, x; mov.b128 {d, low}, y;", first)
	add("mov.b128 {a, b}, x; mov.b128 {b, a}, x; mov.b64 d, a;", second)
	for _, how := range []string{"", ".volatile", ".relaxed.gpu", ".acquire.sys", ".weak", ".cg"} {
		add("ld"+how+".global.b128 y, "+place+";"+high, third)
	}
	add("ld.global.nc.b128 y, "+place+";"+high, third)
	add("ld.b128 y, "+place+"; mov.b128 {d, low}, y;", second)
	for _, how := range []string{"", ".volatile", ".relaxed.gpu", ".release.sys", ".weak", ".cg"} {
		add("st"+how+".global.b128 "+place+", x; ld.global.b64 d, [%base+16];", first)
		add("st"+how+".global.b128 "+place+", x; ld.global.b64 d, [%base+24];", second)
	}
	add("{ .local .b128 stack[2]; st.local.b128 [stack+16], x; ld.local.b128 y, [stack+16];"+high+" }", second)
	for _, how := range []string{"", ".relaxed.cta", ".acquire.gpu", ".release.sys", ".acq_rel.gpu"} {
		add("atom"+how+".global.exch.b128 y, "+place+", x;"+high, third)
		add("atom"+how+".exch.b128 y, "+place+", x; ld.global.b64 d, [%base+24];", second)
		// The first word is b in both, so that the second one decides.
		add("mov.b128 z, {b, a}; atom"+how+".global.cas.b128 y, "+place+", z, x;"+high, third)
		add("mov.b128 z, {b, a}; atom"+how+".global.cas.b128 y, "+place+", z, x; ld.global.b64 d, [%base+16];",
			func(a, b, c uint64) uint64 { return truth(a == c, a) | truth(a != c, b) })
		add("mov.b128 z, {b, c}; atom"+how+".cas.b128 y, "+place+", z, x; ld.global.b64 d, [%base+16];", first)
		add("mov.b128 z, {b, c}; atom"+how+".cas.b128 y, "+place+", z, x; ld.global.b64 d, [%base+24];", second)
	}
}
