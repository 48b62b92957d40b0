package check

import (
	"strings"
	"testing"
)

// Behind its time-out each rank writes to both ranks. Waits that may expire get there, and the race is found; without
// that the wait is the finding. A wait without a deadline stays a deadlock.
func TestExpiredWaitsGoOn(t *testing.T) {
	const writes = `
	30: st.global.u32 [%peer+64], 1;
	31: st.global.u32 [%mine+64], 2;
	end:
`
	long := strings.Replace(timed, "1000000000", "100000000000", 1) // longer than it takes to be taken for a deadlock
	kinds := func(p program) string {
		var all []string
		for _, f := range p.run(t) {
			all = append(all, string(f.Kind))
		}
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		body   string
		expire bool
		want   string
	}{
		{long, false, string(Deadlock)},
		{long, true, string(Race)},
		{polls30, true, string(Deadlock)},
	} {
		p := program{body: onlyOne + c.body + writes, expire: c.expire, seeds: 2}
		if got := kinds(p); !strings.Contains(got, c.want) || strings.Contains(got, " ") && c.want == string(Deadlock) {
			t.Errorf("expire %t: found %q, want %s\n%s", c.expire, got, c.want, p.text())
		}
	}
}
