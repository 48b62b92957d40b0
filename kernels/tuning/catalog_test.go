package tuning

import (
	"fmt"
	"strings"
	"testing"
)

// The catalog is made once for all rules: commands read tables before they do
// anything else.
func TestParseMakesTheCatalogOnce(t *testing.T) {
	var text strings.Builder
	text.WriteString("gpu = \"X\"\ncompute = \"9.0\"\ndriver = \"1\"\nmeasured = \"2026-11-21\"\ndtype = \"float\"\n")
	for world := 1; world <= 40; world++ {
		fmt.Fprintf(&text, "[[rule]]\ncollective = \"barrier\"\nworld = %d\nalgorithm = \"flag\"\n", world)
	}
	once := testing.AllocsPerRun(1, func() { catalog() })
	all := testing.AllocsPerRun(1, func() {
		if _, err := Parse("x", []byte(text.String())); err != nil {
			t.Error(err)
		}
	})
	if all > 10*once {
		t.Errorf("%v allocations for 40 rules, and %v for a catalog", all, once)
	}
}
