package arrivals

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gpurun/rendezvous/tcpstore"
)

var start = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// meeting has ranks arrive, each so many seconds after the start.
func meeting(key string, arrivals ...float64) (m tcpstore.Meeting) {
	m.Key = key
	for i := 0; i+1 < len(arrivals); i += 2 {
		rank := int(arrivals[i])
		m.Arrivals = append(m.Arrivals, tcpstore.Arrival{
			Rank: rank, Client: fmt.Sprintf("10.0.0.%d:400", rank+2),
			Time: start.Add(time.Duration(arrivals[i+1] * float64(time.Second))),
		})
	}
	return m
}

func TestLate(t *testing.T) {
	three := []tcpstore.Meeting{
		meeting("init/", 0, 0, 1, 1, 2, 5),
		meeting("a/store_based_barrier_key:1", 1, 10, 0, 11, 2, 13.5),
		meeting("b/num_members", 2, 30, 1, 31, 0, 31.5),
		meeting("b", 0, 31, 1, 31, 2, 31.01),       // not late
		meeting("c", 2, 40, 1, 41, 0, 41.1, 1, 99), // of more ranks
		meeting("d", 2, 40),                        // incomplete
	}
	for name, c := range map[string]struct {
		meetings []tcpstore.Meeting
		since    time.Time
		want     string
	}{
		"one rank is late": {
			three,
			time.Time{},
			"rank 2 arrived last at 2 of 4 meetings in PyTorch's store, 3.2 s after the others (median; at most 4.0 s)",
		},
		"the window": {
			three, start.Add(6 * time.Second), "rank 2 arrived last at 1 of 3 meetings in PyTorch's store, 2.5 s after",
		},
		"nothing in the window": {three, start.Add(20 * time.Second), ""},
		"unknown": {
			[]tcpstore.Meeting{meeting("init/", 0, 0, 1, 0, -1, 9)},
			time.Time{},
			"the client at 10.0.0.1:400 arrived last at 1 of 1",
		},
		"nothing": {nil, time.Time{}, ""},
	} {
		got := Late(c.meetings, 3, 1, c.since)
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := Late(three, 3, 3, time.Time{}); got != "" {
		t.Errorf("%q, though rank 2 was late twice", got)
	}
}

func TestOpen(t *testing.T) {
	for name, c := range map[string]struct {
		last tcpstore.Meeting
		want string
	}{
		"one is missing": {
			meeting("x/store_based_barrier_key:1", 0, 10, 2, 12),
			`PyTorch's store has seen 2 of 3 ranks at the set-up of process group "1", the last of them 18.0 s ago, ` +
				"and not rank 1",
		},
		"two are missing": {
			meeting("init/", 2, 12),
			"PyTorch's store has seen 1 of 3 ranks at the first connection, the last of them 18.0 s ago, and not ranks 0,1",
		},
		"unknown": {
			meeting("b\x1b", 0, 1, -1, 12),
			`PyTorch's store has seen 2 of 3 ranks at the barrier "b\x1b", the last of them 18.0 s ago`,
		},
		"the same twice": {meeting("b", 1, 1, 1, 12), `PyTorch's store has seen 2 of 3 ranks`},
		"Gloo": {
			meeting("//worker/attempt_0/default_pg/1/0", 0, 10, 2, 12),
			`PyTorch's store has seen 2 of 3 ranks at the set-up of process group "1/0" by Gloo`,
		},
		"just begun": {meeting("b", 0, 29.5), ""},
		"complete":   {meeting("b", 0, 1, 1, 2, 2, 3), ""},
		"empty":      {meeting("b"), ""},
	} {
		got := Open([]tcpstore.Meeting{meeting("init/", 0, 0), c.last}, 3, start.Add(30*time.Second))
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := Open(nil, 3, start); got != "" {
		t.Errorf("without meetings: %q", got)
	}
}
