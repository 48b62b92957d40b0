package dl

import (
	"strings"
	"testing"
)

// Every required function that is missing is named, none that is optional, and all others are found.
func TestBind(t *testing.T) {
	var atoi, abs, first, second, third Func
	third.addr = 1
	err := libc(t).Bind(Required(&first, "no_first_v2", "no_first"), Required(&atoi, "no_atoi_v2", "atoi"),
		Optional(&third, "no_third"), Required(&second, "no_second"), Optional(&abs, "abs"))
	if err == nil || !strings.Contains(err.Error(), "no function no_first_v2 or no_first") ||
		!strings.Contains(err.Error(), "no function no_second") ||
		strings.Contains(err.Error(), "no_third") {
		t.Errorf("got %v", err)
	}
	if atoi.Name() != "atoi" || abs.Name() != "abs" || first.Found() || second.Found() || third.Found() {
		t.Errorf("found %+v, %+v, %+v, %+v, %+v", atoi, abs, first, second, third)
	}
	if !AllFound([]Binding{Required(&atoi), Optional(&abs)}) || AllFound([]Binding{Required(&atoi), Optional(&third)}) {
		t.Error("AllFound is wrong")
	}
}
