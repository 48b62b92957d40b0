package kernels

import (
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

var entryPoint = regexp.MustCompile(`\.visible \.entry (\w+)\(`)

// Every module of the catalog is there and has the entry points that its
// algorithm names, no more and no fewer.
func TestEveryModuleHasItsEntries(t *testing.T) {
	modules := Modules()
	if len(modules) == 0 {
		t.Fatal("the catalog is empty")
	}
	for _, m := range modules {
		text, err := ptx.Source(m.Name)
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, match := range entryPoint.FindAllSubmatch(text, -1) {
			got = append(got, string(match[1]))
		}
		want := slices.Sorted(slices.Values(m.Algorithm.Entries))
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-catalog +PTX)\n%s", m.Name, diff)
		}
	}
}

// Names and aliases lead to one collective each, and automatic choices are in
// its list and able.
func TestCatalogIsConsistent(t *testing.T) {
	words := map[string]string{}
	for _, c := range Collectives() {
		for _, word := range append([]string{c.Name}, c.Aliases...) {
			if other, taken := words[word]; taken {
				t.Errorf("%q means %s and %s", word, other, c.Name)
			}
			words[word] = c.Name
			if found, ok := Find(word); !ok || found.Name != c.Name {
				t.Errorf("Find(%q) does not find %s", word, c.Name)
			}
		}
		checkChoices(t, c)
	}
	if _, ok := Find("allreduc"); ok {
		t.Error("Find accepts a misspelt name")
	}
}

func checkChoices(t *testing.T, c *collective.Collective) {
	for world := 1; world <= collective.MaxRanks; world++ {
		for bytes := int64(0); bytes <= 1<<32; bytes = bytes*4 + 4 {
			call := collective.Call{Count: bytes / 4, DType: collective.Float, Op: collective.Sum}
			chosen := c.Choose(world, call)
			if !slices.Contains(c.Algorithms, chosen) {
				t.Fatalf("%s, %d ranks, %d bytes: the choice is not in the catalog", c.Name, world, bytes)
			}
			if err := chosen.Check(call.DType, call.Op, world); err != nil {
				t.Errorf("%s, %d ranks, %d bytes: %v", c.Name, world, bytes, err)
			}
		}
	}
}
