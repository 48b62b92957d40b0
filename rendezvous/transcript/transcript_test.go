package transcript

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Comments and inputs stay as they are; what came of an input the last time is forgotten.
func TestRetell(t *testing.T) {
	told := []string{}
	got := retell("# a story\n\nfirst\n    of old\n    also\nsecond\n", func(line string) []string {
		told = append(told, line)
		return strings.Split("one two", " ")[:len(told)]
	})
	if diff := cmp.Diff([]string{"first", "second"}, told); diff != "" {
		t.Error("told:", diff)
	}
	if diff := cmp.Diff("# a story\n\nfirst\n    one\nsecond\n    one\n    two\n", got); diff != "" {
		t.Error(diff)
	}
}
