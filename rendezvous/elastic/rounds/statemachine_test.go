package rounds

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// world is a job with agents that do as they are told, or whatever rapid likes.
type world struct {
	t      *rapid.T
	cfg    Config
	state  *StateMachine
	now    Time
	agents map[NodeID]*agent
	last   NodeID
	round  []member // of the latest round, in order of assembly
}

// member is a node's place in a round.
type member struct {
	Round
	about Node
}

// agent is what a node knows of itself.
type agent struct {
	about  Node
	state  string // waiting, assembled, running, stopped, finished
	place  Round
	silent bool
}

func newWorld(t *rapid.T) *world {
	low := rapid.IntRange(1, 4).Draw(t, "min")
	terms := Terms{
		RunID: "job", Min: low, Max: rapid.IntRange(low, 6).Draw(t, "max"),
		MaxRestarts: rapid.IntRange(0, 3).Draw(t, "restarts"),
	}
	if terms.Min == terms.Max {
		terms.Static = rapid.Bool().Draw(t, "static")
	}
	w := &world{t: t, cfg: testConfig(terms), agents: map[NodeID]*agent{}}
	state, err := New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.state = state
	return w
}

// pick is one of the agents in that state, 0 for none.
func (w *world) pick(state string) NodeID {
	ids := w.in(state)
	if len(ids) == 0 {
		w.t.Skip("no agent is " + state)
	}
	return rapid.SampledFrom(ids).Draw(w.t, state)
}

func (w *world) in(states ...string) []NodeID {
	var ids []NodeID
	for _, id := range slices.Sorted(maps.Keys(w.agents)) {
		if slices.Contains(states, w.agents[id].state) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (w *world) join(id NodeID) {
	a := w.agents[id]
	a.state = "waiting"
	w.carryOut(w.state.Join(w.now, id, a.about))
}

func (w *world) newcomer() {
	w.last++
	name := fmt.Sprintf("host%d", rapid.IntRange(0, 9).Draw(w.t, "host"))
	w.agents[w.last] = &agent{about: Node{
		Terms: w.cfg.Terms, Name: name, Rank: rapid.IntRange(0, w.cfg.Terms.Max-1).Draw(w.t, "rank"),
		Workers: rapid.IntRange(1, 4).Draw(w.t, "workers"),
		Role:    rapid.SampledFrom([]string{"reader", "trainer"}).Draw(w.t, "role"),
		Master:  fmt.Sprintf("%s:%d", name, w.last),
	}}
	w.join(w.last)
}

func (w *world) confirm(id NodeID) {
	w.carryOut(w.state.Confirm(w.now, id, w.agents[id].place.Number, ""))
}

// pass lets time pass, in steps in which agents say that they are alive.
func (w *world) pass(d time.Duration) {
	for end := w.now + d; w.now < end; {
		w.now = min(w.now+5*time.Second, end)
		for _, id := range slices.Sorted(maps.Keys(w.agents)) {
			if !w.agents[id].silent {
				w.state.Heartbeat(w.now, id)
			}
		}
		w.carryOut(w.state.Tick(w.now))
		if next, ok := w.state.Next(); ok && next <= w.now {
			w.t.Fatalf("at %v the next deadline, %v, is not in the future", w.now, next)
		}
	}
}

// carryOut follows the state machine's effects and checks that they make sense.
func (w *world) carryOut(effects []Effect) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case Assemble:
			w.assemble(e)
		case Begin:
			if a := w.agents[e.To]; a.state != "assembled" || a.place.Number != e.Round {
				w.t.Fatalf("node %d begins round %d, and is %s in %d", e.To, e.Round, a.state, a.place.Number)
			}
			w.agents[e.To].state = "running"
		case Standby:
			if a := w.agents[e.To]; a.state != "waiting" {
				w.t.Fatalf("node %d becomes a spare while it is %s", e.To, a.state)
			}
		case Stop:
			if a := w.agents[e.To]; a.state != "assembled" && a.state != "running" {
				w.t.Fatalf("node %d has to stop while it is %s", e.To, a.state)
			}
			w.agents[e.To].state = "stopped"
		case Dismiss:
			delete(w.agents, e.To)
		}
	}
	if len(w.round) > 0 {
		w.checkRound()
	}
}

func (w *world) assemble(e Assemble) {
	if a := w.agents[e.To]; a == nil || a.state != "waiting" {
		w.t.Fatalf("node %d is assembled and does not wait", e.To)
	}
	for _, id := range w.in("assembled", "running", "finished", "stopped") {
		if number := w.agents[id].place.Number; number != e.Round.Number {
			w.t.Fatalf("round %d is assembled while node %d is %s in round %d", e.Round.Number, id, w.agents[id].state, number)
		}
	}
	w.agents[e.To].state, w.agents[e.To].place = "assembled", e.Round
	if len(w.round) > 0 && w.round[0].Number != e.Round.Number {
		w.round = nil // it has been checked
	}
	w.round = append(w.round, member{e.Round, w.agents[e.To].about})
}

// checkRound makes sure that nodes agree: one master, one world, and every
// rank there once.
func (w *world) checkRound() {
	first := w.round[0]
	if n := len(w.round); first.Nodes != n || n < w.cfg.Terms.Min || n > w.cfg.Terms.Max {
		w.t.Fatalf("a round of %d nodes, as they believe, has %d", first.Nodes, n)
	}
	taken := map[string]int{}
	for _, m := range w.round {
		taken[fmt.Sprint("node ", m.GroupRank)]++
		for i := range m.about.Workers {
			taken[fmt.Sprint("rank ", m.FirstRank+i, " of ", m.WorldSize)]++
			taken[fmt.Sprint(m.about.Role, " ", m.FirstRoleRank+i, " of ", m.RoleWorldSize)]++
		}
		if m.GroupRank == 0 && m.Master != m.about.Master || m.Master != first.Master ||
			m.Number != first.Number || m.Nodes != first.Nodes || m.Restarts != first.Restarts {
			w.t.Fatalf("nodes disagree: %+v", w.round)
		}
		if w.cfg.Terms.Static && m.GroupRank != m.about.Rank {
			w.t.Fatalf("node rank %d has become group rank %d", m.about.Rank, m.GroupRank)
		}
	}
	w.checkCounts(taken)
}

// checkCounts wants every rank to be taken once, and as many of a kind as there
// are said to be.
func (w *world) checkCounts(taken map[string]int) {
	roles := map[string]int{}
	workers := 0
	for _, m := range w.round {
		workers += m.about.Workers
		roles[m.about.Role] += m.about.Workers
	}
	want := map[string]int{}
	for node := range w.round {
		want[fmt.Sprint("node ", node)] = 1
	}
	for rank := range workers {
		want[fmt.Sprint("rank ", rank, " of ", workers)] = 1
	}
	for role, size := range roles {
		for rank := range size {
			want[fmt.Sprint(role, " ", rank, " of ", size)] = 1
		}
	}
	if !maps.Equal(want, taken) {
		w.t.Fatalf("ranks are taken so often: %v", taken)
	}
}

// Whatever happens, there is never more than one round, its nodes agree, and
// in the end nobody waits in vain: every node runs, or is a spare of a group
// that is full, or has been told why not.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"newcomer":  func(*rapid.T) { w.newcomer() },
			"newcomers": func(*rapid.T) { w.newcomer(); w.newcomer(); w.newcomer() },
			"rejoin":    func(*rapid.T) { w.join(w.pick("stopped")) },
			"confirm":   func(*rapid.T) { w.confirm(w.pick("assembled")) },
			"behave":    func(*rapid.T) { w.behave() },
			"fail": func(*rapid.T) {
				id := w.pick("running")
				w.carryOut(w.state.Fail(w.now, id, w.agents[id].place.Number, Failure{Reason: "failed"}))
			},
			"finish":  func(*rapid.T) { w.finish(w.pick("running")) },
			"leave":   func(*rapid.T) { w.depart(w.state.Leave) },
			"lose":    func(*rapid.T) { w.depart(w.state.Lose) },
			"silence": func(*rapid.T) { w.agents[w.pick("running")].silent = true },
			"pass": func(t *rapid.T) {
				w.pass(time.Duration(rapid.IntRange(1, 60).Draw(t, "seconds")) * time.Second)
			},
		})
		w.settleDown()
	})
}

// depart lets any agent go.
func (w *world) depart(how func(Time, NodeID, string) []Effect) {
	ids := slices.Sorted(maps.Keys(w.agents))
	if len(ids) == 0 {
		w.t.Skip("there is no agent")
	}
	id := rapid.SampledFrom(ids).Draw(w.t, "who")
	delete(w.agents, id)
	w.carryOut(how(w.now, id, "gone"))
}

func (w *world) finish(id NodeID) {
	w.agents[id].state = "finished"
	w.carryOut(w.state.Finish(w.now, id, w.agents[id].place.Number))
}

// behave lets all agents do what they should.
func (w *world) behave() {
	for _, id := range w.in("stopped") {
		if w.agents[id] != nil && w.agents[id].state == "stopped" {
			w.join(id)
		}
	}
	for _, id := range w.in("assembled") {
		if w.agents[id] != nil && w.agents[id].state == "assembled" {
			w.confirm(id)
		}
	}
}

// settleDown lets all agents behave for long enough, and checks what has become
// of them.
func (w *world) settleDown() {
	for range 100 {
		w.behave()
		w.pass(10 * time.Second)
	}
	running, waiting := len(w.in("running")), len(w.in("waiting"))
	if left := w.in("assembled", "stopped", "finished"); len(left) > 0 && running == 0 {
		w.t.Fatalf("nodes %v are still on their way", left)
	}
	if waiting > 0 && (running < w.cfg.Terms.Max && len(w.in("finished")) == 0) && !w.state.finishing {
		w.t.Fatalf("%d nodes wait, and %d of %d run", waiting, running, w.cfg.Terms.Max)
	}
	if waiting != w.state.Spares() {
		w.t.Fatalf("%d nodes wait, %d of them as spares", waiting, w.state.Spares())
	}
	if w.state.Ended() != nil && len(w.agents) > 0 {
		w.t.Fatalf("the job is over, and %d agents do not know", len(w.agents))
	}
	for _, id := range w.in("running") {
		w.finish(id)
	}
	if len(w.agents) > 0 {
		w.t.Fatalf("all have finished, and %d agents are still there", len(w.agents))
	}
}

// What a node says about a round that is over has no effect on the next one.
func TestStaleMessages(t *testing.T) {
	m, err := New(testConfig(Terms{Min: 1, Max: 1, MaxRestarts: 5}))
	if err != nil {
		t.Fatal(err)
	}
	about := Node{Terms: m.cfg.Terms, Workers: 1}
	m.Join(0, 1, about)
	m.Confirm(0, 1, 1, "")
	m.Fail(0, 1, 1, Failure{})
	m.Join(0, 1, about)
	stale := func(what string, effects []Effect) {
		t.Helper()
		if len(effects) > 0 {
			t.Errorf("%s of round 1 in round 2: %v", what, effects)
		}
	}
	stale("a confirmation", m.Confirm(0, 1, 1, "no route to host"))
	m.Confirm(0, 1, 2, "")
	stale("a contribution", m.Contribute(0, 1, 1, "data", nil))
	stale("a failure", m.Fail(0, 1, 1, Failure{}))
	stale("a success", m.Finish(0, 1, 1))
	if m.Ended() != nil {
		t.Errorf("the job is over: %v", m.Ended())
	}
}

// What nodes say of themselves is shown to people, and kept.
func TestNamesAreBounded(t *testing.T) {
	m, err := New(testConfig(Terms{Min: 1, Max: 2}))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", MaxNameBytes+1)
	for reason, about := range map[string]Node{
		"a node's name of 256 bytes; at most 255":                 {Name: long},
		"a node's role of 256 bytes; at most 255":                 {Role: long},
		"a node's address of 256 bytes; at most 255":              {Master: long},
		`a node's name with control characters: "node0\x1b[2J"`:   {Name: "node0\x1b[2J"},
		`a node's role with control characters: "a\nb"`:           {Role: "a\nb"},
		`a node's address with control characters: "head:99\x00"`: {Master: "head:99\x00"},
	} {
		about.Terms, about.Workers = m.cfg.Terms, 1
		effects := m.Join(0, 1, about)
		if len(effects) != 1 || effects[0].(Dismiss).End.Reason != reason {
			t.Errorf("got %+v, want %q", effects, reason)
		}
	}
}

// What many nodes give together must fit a message.
func TestGathersAreBounded(t *testing.T) {
	const nodes = MaxGatherBytes/MaxDataBytes + 1
	m, err := New(testConfig(Terms{Min: nodes, Max: nodes}))
	if err != nil {
		t.Fatal(err)
	}
	for id := range NodeID(nodes) {
		m.Join(0, id, Node{Terms: m.cfg.Terms, Workers: 1})
	}
	for id := range NodeID(nodes) {
		m.Confirm(0, id, 1, "")
	}
	var last []Effect
	for id := range NodeID(nodes) {
		last = m.Contribute(0, id, 1, "data", make([]byte, MaxDataBytes))
	}
	if len(last) != nodes {
		t.Fatalf("%d effects, want %d", len(last), nodes)
	}
	if failed, ok := last[0].(GatherFailed); !ok || failed.Reason != "over 8388608 bytes in all" {
		t.Errorf("got %+v", last[0])
	}
	for _, limit := range []struct {
		name string
		data []byte
	}{{"one", make([]byte, MaxDataBytes+1)}, {string(make([]byte, MaxNameBytes+1)), nil}} {
		if _, ok := m.Contribute(0, 1, 1, limit.name, limit.data)[0].(GatherFailed); !ok {
			t.Errorf("%d bytes under a name of %d are taken", len(limit.data), len(limit.name))
		}
	}
}
