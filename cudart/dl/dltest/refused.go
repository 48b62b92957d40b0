package dltest

import (
	"errors"
	"strings"
	"testing"
)

// Refused checks that opening a library failed with an error of type E, which says all that it
// should. what tells the failures of a test apart.
func Refused[E error](t testing.TB, what string, err error, says ...string) {
	t.Helper()
	if load := *new(E); !errors.As(err, &load) {
		t.Errorf("%s: got %v, want a %T", what, err, load)
		return
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q does not say %q", what, err, want)
		}
	}
}
