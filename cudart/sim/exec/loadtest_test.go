package exec

import "testing"

// tester asks at each strong load how its elements are tested.
type tester struct {
	diary
	texts []string
	same  []uint64
	// equals are the numbers that elements are compared with for equality; noNumber: with something else.
	equals []uint64
}

const noNumber = 1 << 40

func (d *tester) Access(at Place, a *ObservedAccess) {
	if a.Kind != Reads || a.Order == "" {
		return
	}
	for element := range a.Elements {
		digest, ok := at.Tested(0, element)
		if !ok {
			digest = 0
		}
		d.same = append(d.same, digest)
		d.texts = append(d.texts, at.TestText(0, element))
		number, ok := at.Equals(0, element)
		if !ok {
			number = noNumber
		}
		d.equals = append(d.equals, number)
	}
}

// What a program compares with what it loads is told, with the operands of the moment.
func TestLoadedValuesAreTested(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"setp.eq.u32 p, %a, 5;", "value == 5"},
		{"mov.u32 %b, 7; sub.s32 %b, %a, %b; setp.gt.s32 p, %b, -1;", ""}, // %b is written behind the load
		{"sub.s32 %a, %a, %tid; setp.gt.s32 p, %a, -1;", "value - 0 > -1"},
		{"shr.u32 %a, %a, 16; and.b32 %a, %a, 3; setp.ne.s32 p, %a, 1;", "(value >> 16) & 3 != 1"},
		{"setp.lt.u32 p, 9, %a;", "9 < value"},
		{"mov.u32 %a, 3; setp.eq.u32 p, %a, 5;", ""}, // another value
		{"add.u32 %b, %tid, 3; setp.eq.u32 p, %b, 5;", ""},
		{"bra.uni far; far: setp.ge.u32 p, %a, 5;", "value >= 5"},
	} {
		p, err := LoadObserved(parseText(t, kernel("ld.acquire.sys.global.u32 %a, [%data]; "+c.code+" mov.u32 %b, %a;")))
		if err != nil {
			t.Fatal(err)
		}
		var mem memory
		told := &tester{}
		base := mem.allocate(4096)
		g := launchKernel(t, p, "run", Config{Threads: 32, Params: words(base), Memory: &mem, Observer: told})
		if err := finish(t, g); err != nil {
			t.Fatal(err)
		}
		if len(told.texts) != 1 || told.texts[0] != c.want || (told.same[0] != 0) != (c.want != "") {
			t.Errorf("%s: tested %q, digests %x, want %q", c.code, told.texts, told.same, c.want)
		}
	}
}

// A loop that waits for one number, and for no other, is told from one that waits for at least a number.
func TestLoadedValuesAreComparedForEquality(t *testing.T) {
	for code, want := range map[string]uint64{
		"setp.eq.u32 p, %a, 5;":                                5,
		"setp.ne.s32 p, 5, %a;":                                5,
		"setp.ne.s32 p, %a, -1;":                               1<<32 - 1,
		"setp.ne.b32 p, %a, %tid;":                             0,
		"setp.ge.u32 p, %a, 5;":                                noNumber,
		"setp.eq.f32 p, %a, 0f3F800000;":                       noNumber,
		"sub.s32 %a, %a, 5; setp.ne.s32 p, %a, 0;":             noNumber,
		"add.u32 %b, %tid, 3; setp.eq.u32 p, %a, %b;":          noNumber,
		"setp.eq.u32 p, %tid, 5; setp.eq.and.u32 p, %a, 5, p;": noNumber,
	} {
		told := &tester{}
		p, err := LoadObserved(parseText(t, kernel("ld.acquire.sys.global.u32 %a, [%data]; "+code+" mov.u32 %b, %a;")))
		if err != nil {
			t.Fatal(err)
		}
		var mem memory
		base := mem.allocate(4096)
		g := launchKernel(t, p, "run", Config{Threads: 32, Params: words(base), Memory: &mem, Observer: told})
		if err := finish(t, g); err != nil {
			t.Fatal(err)
		}
		if len(told.equals) != 1 || told.equals[0] != want {
			t.Errorf("%s: compared with %v, want %d", code, told.equals, want)
		}
	}
}
