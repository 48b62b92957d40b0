package collective

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/ptx"
)

const twoEntries = `.version 8.0
.visible .entry first(
.param .b64 p
)
.maxntid 512
{
{
st.v2.b32 [%r1],{%r2,%r3};
}
ret;
}
.func between()
{
}
.visible .entry second(
.param .b64 p
)
{
}
`

// Lines of other entry points are empty; functions, and lines with an entry point's name in braces, stay.
func TestOnlyEntry(t *testing.T) {
	for _, tt := range []struct{ name, text, entry, want string }{
		{"first", twoEntries, "first", strings.Replace(twoEntries, ".visible .entry second(\n.param .b64 p\n)\n{\n}\n",
			"\n\n\n\n\n", 1)},
		{
			"second", twoEntries, "second",
			".version 8.0\n" + strings.Repeat("\n", 10) + twoEntries[strings.Index(twoEntries, ".func"):],
		},
		{"none", twoEntries, "third", ".version 8.0\n" + strings.Repeat("\n", 10) + ".func between()\n{\n}\n\n\n\n\n\n"},
		{"no entry", "some text", "first", "some text"},
		{"empty", "", "first", ""},
	} {
		if diff := cmp.Diff(tt.want, string(onlyEntry([]byte(tt.text), tt.entry))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Of the kernels of a reduction one is left, whole.
func TestOnlyEntryOfAModule(t *testing.T) {
	text, err := ptx.Source("allreduce_oneshot_ll_float_sm_90")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ".visible .entry oneshot_ll_sum_n2(")
	body, _, _ := strings.Cut(rest, ".visible .entry ")
	left := string(onlyEntry(text, "oneshot_ll_sum_n2"))
	if !strings.Contains(left, body) || strings.Count(left, ".entry") != 1 {
		t.Errorf("%d entry points are left, and of %d bytes of the body %t", strings.Count(left, ".entry"), len(body),
			strings.Contains(left, body))
	}
	if strings.Count(left, "\n") != strings.Count(string(text), "\n") {
		t.Error("the numbers of lines have changed")
	}
}
