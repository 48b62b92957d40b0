package pack

import (
	"errors"
	"testing"
)

// The statements of each case are counted one after the other.
func TestRelative(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"copies of a loop's body are equal": {
			"add.s32 %r7,%r6,1;\nst [%d2],%r7;\nadd.s32 %r8,%r7,1;\nst [%d2],%r8;\n",
			"add.s32 %r+7,%r+6,1;\nst [%d+2],%r0;\nadd.s32 %r+,%r0,1;\nst [%d0],%r0;\n",
		},
		"a predicate is no result": {"@%p3 mov %p5,%p4;\nmov %p6,%p5;\n", "@%p+3 mov %p+5,%p+4;\nmov %p+,%p0;\n"},
		"braces": {
			"mma {%r9,%r10},{%r4,%r6};\nmov %r9,%r8;\n",
			"mma {%r+9,%r+},{%r6,%r+2};\nmov %r0,%r1;\n",
		},
		"labels": {
			"$L0_3:\nbra $L0_5;\nbra $L0_4;\nbra $L1_4;\n",
			"$L0_+3:\nbra $L0_+2;\nbra $L0_1;\nbra $L1_+4;\n",
		},
		"no registers": {
			".reg .b32 %r<9>;\nmov %d1,%tid.x+4;$x % 100%",
			".reg .b32 %r<9>;\nmov %d+,%tid.x+4;$x % 100%",
		},
		"an end in the middle": {"%r4\n%r", "%r+4\n%r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := relative([]byte(c.text))
			if string(got) != c.want {
				t.Errorf("%q is %q, want %q", c.text, got, c.want)
			}
			if back := absolute(got); string(back) != c.text {
				t.Errorf("%q comes back as %q", c.text, back)
			}
		})
	}
}

// Text that would come back as another is not packed.
func TestPackRefusesAmbiguousText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"mov %r01,1;", "mov %tid+4,1;"} {
		if _, err := Pack([]byte(text), "", texts); !errors.Is(err, ErrNotation) {
			t.Errorf("%s: %v, want %v", text, err, ErrNotation)
		}
	}
}

func FuzzPack(f *testing.F) {
	f.Add("@%p1 ld.v2 {%r1,%r2},[%d1+16];\n$L0_4: bra $L0_3;\n")
	f.Fuzz(func(t *testing.T, text string) {
		data, err := Pack([]byte(text), "", texts)
		if errors.Is(err, ErrNotation) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Unpack(data, nil); err != nil || string(got) != text {
			t.Errorf("%q comes back as %q, %v", text, got, err)
		}
	})
}
