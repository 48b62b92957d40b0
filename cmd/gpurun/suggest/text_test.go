package suggest

import (
	"strings"
	"testing"
)

func TestOrList(t *testing.T) {
	for want, words := range map[string]string{"": "", "a": "a", "a or b": "a b", "a, b or c": "a b c"} {
		if got := OrList(strings.Fields(words)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
