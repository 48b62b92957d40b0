package checkreport

import (
	"strings"
	"testing"
)

// The table for a narrow terminal ends in the name, in front of which there are at most 40 columns.
func TestNarrowTable(t *testing.T) {
	r := Report{Cases: []Case{{Algorithm: "oneshot", Ranks: 2, Schedules: 18}}}
	narrow := tableOf(r, true)
	name := rowsOf(r.Cases)[0].name
	lines := strings.Split(strings.TrimSpace(narrow), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[1], name) || strings.Index(lines[1], name) > 40 ||
		!strings.HasSuffix(lines[0], "ALGORITHM") {
		t.Errorf("%s", narrow)
	}
	if wide := tableOf(r, false); widestLine(wide) <= widestLine(narrow) || !strings.Contains(wide, "IN BOTH ORDERS") {
		t.Errorf("%s", wide)
	}
}
