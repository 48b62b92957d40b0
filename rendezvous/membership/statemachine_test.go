package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestStragglerMessage(t *testing.T) {
	tests := []struct {
		straggler Straggler
		want      string
	}{
		{
			Straggler{Op: "barrier", Name: "ready", Missing: []int{3}, WorldSize: 8}, `barrier "ready": waiting for rank 3 of 8`,
		},
		{Straggler{Op: "join", Missing: []int{2, 5}, WorldSize: 8}, `join: waiting for ranks 2, 5 of 8`},
		{Straggler{Op: "join", Missing: []int{0, 1, 3, 4, 5, 7}, WorldSize: 8}, `join: waiting for ranks 0, 1, 3-5, 7 of 8`},
		{Straggler{Op: "join", Absent: 3, WorldSize: 8}, `join: waiting for 3 more of 8 members`},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.straggler.Error()); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
		if !errors.Is(&tt.straggler, context.DeadlineExceeded) {
			t.Errorf("%v is no DeadlineExceeded", &tt.straggler)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{WorldSize: 1, JoinTimeout: 1, HeartbeatTimeout: 1}
	tests := map[string]func(*Config){
		"no members":                 func(c *Config) { c.WorldSize = 0 },
		"too many members":           func(c *Config) { c.WorldSize = MaxWorldSize + 1 },
		"no join timeout":            func(c *Config) { c.JoinTimeout = 0 },
		"negative heartbeat timeout": func(c *Config) { c.HeartbeatTimeout = -1 },
	}
	for name, spoil := range tests {
		c := good
		spoil(&c)
		if _, err := New(c); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}

func TestLimits(t *testing.T) {
	group := func(n int) *StateMachine {
		m, err := New(Config{WorldSize: n, JoinTimeout: time.Hour, HeartbeatTimeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		for rank := range n {
			m.Join(0, SessionID(rank), Member{Rank: rank}, 0)
		}
		return m
	}
	tests := []struct {
		name string
		run  func(m *StateMachine) []Effect
		want error
	}{
		{"name", func(m *StateMachine) []Effect {
			return m.Arrive(0, 0, 1, Arrival{Op: Barrier, Name: strings.Repeat("n", MaxNameBytes+1), Timeout: 1})
		}, ErrInvalid},
		{"one exchange", func(m *StateMachine) []Effect {
			return m.Arrive(0, 0, 1, Arrival{Op: AllGather, Name: "n", Data: make([]byte, MaxExchangeBytes+1), Timeout: 1})
		}, ErrLimit},
		{"all exchanges", func(m *StateMachine) (last []Effect) {
			for i := range MaxPendingBytes/MaxExchangeBytes + 1 {
				last = m.Arrive(0, 0, CallID(i),
					Arrival{Op: AllGather, Name: fmt.Sprint(i), Data: make([]byte, MaxExchangeBytes), Timeout: 1})
			}
			return last
		}, ErrLimit},
		{"number of exchanges", func(m *StateMachine) (last []Effect) {
			for i := range MaxOpenExchanges + 1 {
				last = m.Arrive(0, 0, CallID(i), Arrival{Op: Barrier, Name: fmt.Sprint(i), Timeout: 1})
			}
			return last
		}, ErrLimit},
		{"host", func(*StateMachine) []Effect {
			return mustGather(t).Join(0, 1, Member{Host: strings.Repeat("h", MaxHostBytes+1)}, 0)
		}, ErrLimit},
		{"host for terminals", func(*StateMachine) []Effect {
			return mustGather(t).Join(0, 1, Member{Host: "node0\x1b[2J"}, 0)
		}, ErrInvalid},
		{"device", func(*StateMachine) []Effect {
			return mustGather(t).Join(0, 1, Member{Device: make([]byte, MaxDeviceBytes+1)}, 0)
		}, ErrLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			effects := tt.run(group(2))
			if len(effects) != 1 || !errors.Is(errorOf(effects[0]), tt.want) {
				t.Errorf("got %v, want one failure, %v", effects, tt.want)
			}
		})
	}
}

func mustGather(t *testing.T) *StateMachine {
	t.Helper()
	m, err := New(Config{WorldSize: 2, JoinTimeout: time.Hour, HeartbeatTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func errorOf(effect Effect) error {
	switch e := effect.(type) {
	case Dismiss:
		return e.Err
	case Fail:
		return e.Err
	}
	return nil
}

func TestReasonsAreClipped(t *testing.T) {
	got := clip(strings.Repeat("é", MaxReasonBytes), MaxReasonBytes-1)
	if len(got) > MaxReasonBytes+2 || strings.ContainsRune(got, '\uFFFD') || !strings.HasSuffix(got, "é...") {
		t.Errorf("clipped to %d bytes ending in %q", len(got), got[len(got)-8:])
	}
}

// The same members get the same ranks in whatever order they arrive.
func TestAssignedRanksDoNotDependOnArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "world")
		members := make([]Member, n)
		for i := range members {
			members[i] = Member{Rank: AnyRank, Host: fmt.Sprint("node", i/4), LocalRank: i % 4, PID: i}
			if rapid.Bool().Draw(t, "fixed") {
				members[i].Rank = n - 1 - i
			}
		}
		first := ranksOf(t, members)
		again := ranksOf(t, rapid.Permutation(members).Draw(t, "arrival"))
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("ranks by PID (-first +again):\n%s", diff)
		}
	})
}

// ranksOf lets members join and returns their ranks by PID, after a check
// that each is given once and that wishes were granted.
func ranksOf(t *rapid.T, members []Member) map[int]int {
	m, err := New(Config{WorldSize: len(members), JoinTimeout: 1, HeartbeatTimeout: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, who := range members {
		m.Join(0, SessionID(i), who, 0)
	}
	ranks := map[int]int{}
	for rank, who := range m.Members() {
		if who.Rank != rank {
			t.Fatalf("member %d has rank %d", rank, who.Rank)
		}
		ranks[who.PID] = rank
	}
	for _, who := range members {
		if who.Rank != AnyRank && ranks[who.PID] != who.Rank {
			t.Fatalf("PID %d wanted rank %d and got %d", who.PID, who.Rank, ranks[who.PID])
		}
	}
	return ranks
}

// ledger checks that whatever comes in, every call is answered once, every
// member is welcomed and dismissed at most once, and nothing is held that
// nobody waits for.
type ledger struct {
	state     *StateMachine
	worldSize int
	now       Time
	next      int
	open      map[CallID]bool
	welcomed  map[SessionID]bool
	dismissed map[SessionID]bool
}

func (l *ledger) enter(t *rapid.T, effects []Effect) {
	delivered := 0
	for _, effect := range effects {
		switch e := effect.(type) {
		case Welcome:
			if l.welcomed[e.To] || l.dismissed[e.To] {
				t.Fatalf("%+v comes too late", e)
			}
			l.welcomed[e.To] = true
		case Dismiss:
			if l.dismissed[e.To] {
				t.Fatalf("%+v comes twice", e)
			}
			l.dismissed[e.To] = true
		case Deliver:
			l.answer(t, e.Call)
			delivered++
		case Fail:
			l.answer(t, e.Call)
		}
	}
	if delivered != 0 && delivered != l.worldSize {
		t.Fatalf("an exchange completed for %d of %d", delivered, l.worldSize)
	}
}

func (l *ledger) answer(t *rapid.T, call CallID) {
	if !l.open[call] {
		t.Fatalf("call %d is answered, but not open", call)
	}
	delete(l.open, call)
}

func (l *ledger) check(t *rapid.T) {
	m := l.state
	if len(m.calls) != len(l.open) {
		t.Fatalf("%d calls are open, the state machine knows %d", len(l.open), len(m.calls))
	}
	held := 0
	for _, e := range m.exchanges {
		held += e.bytes
	}
	if held != m.pending {
		t.Fatalf("exchanges hold %d bytes, the state machine counts %d", held, m.pending)
	}
	if m.phase == ended && (len(l.open) != 0 || m.cause == nil) {
		t.Fatalf("ended with %v and %d open calls", m.cause, len(l.open))
	}
	if next, ok := m.Next(); ok && next <= l.now {
		t.Fatalf("the next deadline, %v, is not after %v", next, l.now)
	}
}

func TestEveryCallIsAnsweredOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "world")
		m, err := New(Config{WorldSize: n, JoinTimeout: 20, HeartbeatTimeout: 50})
		if err != nil {
			t.Fatal(err)
		}
		l := &ledger{
			state: m, worldSize: n,
			open: map[CallID]bool{}, welcomed: map[SessionID]bool{}, dismissed: map[SessionID]bool{},
		}
		session := rapid.Map(rapid.IntRange(0, n), func(i int) SessionID { return SessionID(i) })
		t.Repeat(map[string]func(*rapid.T){
			"":       l.check,
			"join":   func(t *rapid.T) { l.join(t) },
			"arrive": func(t *rapid.T) { l.arrive(t, session.Draw(t, "who")) },
			"tick": func(t *rapid.T) {
				l.now += Time(rapid.IntRange(1, 10).Draw(t, "time"))
				l.enter(t, m.Tick(l.now))
			},
			"beat":   func(t *rapid.T) { m.Heartbeat(l.now, session.Draw(t, "who")) },
			"cancel": func(t *rapid.T) { l.enter(t, m.Cancel(CallID(rapid.IntRange(0, l.next).Draw(t, "call")))) },
			"leave": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "rarely") == 0 {
					l.enter(t, m.Leave(session.Draw(t, "who")))
				}
			},
			"lose": func(t *rapid.T) {
				if rapid.IntRange(0, 19).Draw(t, "rarely") == 0 {
					l.enter(t, m.Lose(session.Draw(t, "who"), "lost"))
				}
			},
		})
	})
}

func (l *ledger) join(t *rapid.T) {
	id := SessionID(len(l.state.seats))
	if slices.ContainsFunc(l.state.seats, func(s *seat) bool { return s.id == id }) || l.dismissed[id] {
		return
	}
	l.enter(t, l.state.Join(l.now, id, Member{Rank: AnyRank}, 0))
}

func (l *ledger) arrive(t *rapid.T, who SessionID) {
	call := CallID(l.next)
	l.next++
	l.open[call] = true
	l.enter(t, l.state.Arrive(l.now, who, call, Arrival{
		Op:       Operation(rapid.IntRange(1, 3).Draw(t, "op")),
		Name:     rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "name"),
		Sequence: uint64(rapid.IntRange(0, 1).Draw(t, "number")),
		Root:     rapid.IntRange(-1, 1).Draw(t, "root"),
		Data:     make([]byte, rapid.IntRange(0, 9).Draw(t, "bytes")),
		Timeout:  Time(rapid.IntRange(0, 20).Draw(t, "timeout")),
	}))
}
