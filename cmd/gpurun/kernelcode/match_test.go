package kernelcode

import (
	"strings"
	"testing"
)

// Names as compilers mangle them, for templates over a type and the number of ranks.
var mangled = []string{
	"plain",
	"_Z6reduceIfLi2EEvPT_",                     // void reduce<float, 2>(float*)
	"_Z6reduceIfLi4EEvPT_",                     // void reduce<float, 4>(float*)
	"_Z6reduceI6__halfLi2EEvPT_",               // void reduce<__half, 2>(__half*)
	"_ZN3lib6reduceI13__nv_bfloat16Lj8EEEvPT_", // void lib::reduce<__nv_bfloat16, 8u>(__nv_bfloat16*)
	"_Z3sumPxS_",                               // sum(long long*, long long*)
	"_Z5otherPh",                               // other(unsigned char*)
	"_Z4tallIxEvv",                             // void tall<long long>()
}

func TestMatch(t *testing.T) {
	for _, c := range []struct{ pattern, want, err string }{
		{"reduce<float,2>", mangled[1], ""},
		{"reduce<float, 2>*", mangled[1], ""},
		{"void reduce<float, 4>(float *)", mangled[2], ""},
		{"reduce<__half,*>", mangled[3], ""},
		{"*reduce<__nv_bfloat16, 8>", mangled[4], ""},
		{"lib::reduce<__nv_bfloat16,8u>", mangled[4], ""},
		{"sum(long*, long*)", mangled[5], ""},
		{"other(unsigned char*)", mangled[6], ""},
		{"tall<long>", mangled[7], ""},
		{"plain", "plain", ""},
		{"duce<float,2>", "", "no kernel matches"},
		{"reduce<*,2>", "", "2 kernels match"},
		{"reduce<double,2>", "", `did you mean`},
		{"reduce<float,2", "", "no kernel matches"},
		{"plai.", "", "no kernel matches"},
	} {
		got, err := matchEntry(c.pattern, mangled)
		switch {
		case got != c.want, c.err == "" && err != nil:
			t.Errorf("%q: %q, %v; want %q", c.pattern, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q: error %v, want %q", c.pattern, err, c.err)
		}
	}
}

func TestFindEntry(t *testing.T) {
	for name, want := range map[string]string{
		"plain": "", "plian": `did you mean "plain"`, "reduce<float, 2>": "write match in place of entry",
		"zzzzzzzzzzzz": "it has plain, ",
	} {
		err := findEntry(name, mangled)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if err := findEntry("a", nil); err == nil || !strings.Contains(err.Error(), "it has none") {
		t.Error(err)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("reduce<*,2>", "_Z6reduceIfLi2EEvPT_")
	f.Fuzz(func(_ *testing.T, pattern, entry string) { _, _ = matchEntry(pattern, []string{entry}) })
}
