package check

import "testing"

// An exploration goes on while schedules show two instructions in a new order, and ends when so many in a row have not.
// A finding, or something that is not modeled, keeps it going.
func TestSettledBehindTheLastNewOrder(t *testing.T) {
	const first, second, back = 1, 2, 3 // orders
	report := func(orders ...uint64) *Report {
		r := &Report{orders: map[uint64]bool{}}
		for _, o := range orders {
			r.orders[o] = true
		}
		return r
	}
	racy, gap := report(first), report(first)
	racy.Findings = []Finding{{Kind: Race}}
	gap.Incomplete = []string{"something"}
	for name, c := range map[string]struct {
		schedules []*Report
		want      int // the number of the schedule behind which it ends; 0: it goes on
	}{
		"nothing new from the second on": {repeated(report(first), 9), 5},
		"the other order in the fourth":  {append(repeated(report(first), 3), repeated(report(first, back), 9)...), 8},
		"the other order just in time":   {append(repeated(report(first), 4), repeated(report(back), 9)...), 9},
		"the other order one too late":   {append(repeated(report(first), 5), report(back)), 5},
		"always something new":           {[]*Report{report(first), report(second), report(back), report(first)}, 0},
		"no orders":                      {repeated(report(), 9), 4},
		"a finding":                      {repeated(racy, 9), 0},
		"something not modeled":          {append(repeated(gap, 1), repeated(report(first), 9)...), 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, ended := newMerge(Exploration{}), 0
			for i, r := range c.schedules {
				m.add(result{report: r})
				if m.isSettled(4) && ended == 0 {
					ended = i + 1
				}
			}
			if ended != c.want {
				t.Errorf("ended behind schedule %d, want %d", ended, c.want)
			}
		})
	}
}

func repeated(r *Report, n int) (all []*Report) {
	for range n {
		all = append(all, r)
	}
	return all
}

// An exploration of a kernel ends behind the first four schedules in a row that show no new order, whatever runs beside
// them, and its last new order comes from a later schedule than the first one.
func TestExplorationSettles(t *testing.T) {
	const settled, most = 4, 64
	task := func(r *Rank) error {
		return passMessage(r, story(map[string]string{
			"STORE": "st.release.sys.global.u32", "LOAD": "ld.acquire.sys.global.u32", "SENDER_BARRIER": blockBarrier,
			"RECEIVER_BARRIER": blockBarrier,
		}), 64)
	}
	cfg := Config{Ranks: 2}
	e := Exploration{Strategies: DefaultStrategies, Schedules: most, Seed: 6, Workers: 1}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	orders, last, want := map[uint64]bool{}, 0, 0
	length := usualLength
	for n := 0; n < most && want == 0; n++ {
		r := c.explored(e, n, length, task)
		if n == 0 {
			length = max(1, r.strong)
		}
		for o := range r.report.orders {
			if !orders[o] {
				orders[o], last = true, n+1
			}
		}
		if n+1-last == settled {
			want = n + 1
		}
	}
	e.Settled = settled
	for _, e.Workers = range []int{1, 2} {
		explored, err := Explore(cfg, e, task)
		if err != nil {
			t.Fatal(err)
		}
		if explored.Schedules != want || !explored.Settled || len(explored.Findings) > 0 {
			t.Errorf("%d workers: ended behind %d schedules, settled %t, want %d; found %v", e.Workers, explored.Schedules,
				explored.Settled, want, explored.Findings)
		}
	}
	if last < 2 {
		t.Errorf("the last new order was in schedule %d: the test wants a later one", last)
	}
}
