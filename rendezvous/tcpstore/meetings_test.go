package tcpstore

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// seen are the ranks of each meeting, in the order in which they arrived.
func seen(s *Server) (all []string) {
	for _, m := range s.Meetings() {
		var ranks []int
		for _, a := range m.Arrivals {
			ranks = append(ranks, a.Rank)
		}
		all = append(all, fmt.Sprint(m.Key, " ", ranks))
	}
	return all
}

func TestMeetings(t *testing.T) {
	s, _ := serve(t, Limits{})
	const barrier = "default_pg/store_based_barrier_key:1"
	first, second := connect(t, s, current), connect(t, s, legacy)
	second.add("init/", 1)
	second.set("//worker/attempt_0/default_pg/0/0/rank_1", "host")
	second.add(barrier, 1)
	second.add(barrier, 0) // as PyTorch 1.13 does until the number is that of all ranks
	first.add("init/", 1)
	first.add("counter", 1)
	first.set("default_pg/0/0/rank_x", "")
	first.add(barrier, 1)
	want := []string{"init/ [1 -1]", "//worker/attempt_0/default_pg/0/0 [1]", barrier + " [1 -1]"}
	if got := seen(s); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	second.add(barrier, 1) // the key is used again
	first.add(barrier, 1)
	if got := seen(s); !slices.Equal(got, append(want, barrier+" [1 -1]")) {
		t.Errorf("%q after a second meeting", got)
	}
	if m := s.Meetings()[2].Arrivals; m[1].Time.Before(m[0].Time) || m[0].Client == m[1].Client {
		t.Errorf("arrivals: %+v", m)
	}
}

// A client that has left stays known.
func TestMeetingsOfClientsThatHaveLeft(t *testing.T) {
	s, _ := serve(t, Limits{})
	c := connect(t, s, current)
	c.set("default_pg/0/0/rank_7", "host")
	c.add("init/", 1)
	c.conn.Close()
	for open := true; open || len(s.Meetings()) == 0; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		open = len(s.conns) > 0
		s.mu.Unlock()
	}
	if got := seen(s); !slices.Equal(got, []string{"default_pg/0/0 [7]", "init/ [7]"}) {
		t.Errorf("%q", got)
	}
	if len(s.meetings.ranks) > 0 {
		t.Error("the connection is kept")
	}
}

func TestMeetingsAreBounded(t *testing.T) {
	s, _ := serve(t, Limits{})
	c := connect(t, s, current)
	for n := range mostMeetings + 3 {
		c.ask(opBarrier, fmt.Sprint("barrier", n), 1)
		c.read(1)
	}
	if got := seen(s); len(got) != mostMeetings || got[0] != "barrier3 [-1]" {
		t.Errorf("%d meetings from %s", len(got), got[0])
	}
}
