package rounds

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gpurun/rendezvous/transcript"
)

// TestTranscripts replays the stories under testdata, as package transcript does. Inputs are
//
//	job MIN:MAX [restarts=N] [static=true]
//	A joins [host=H] [rank=N] [workers=N] [role=R] [job=ID] [round=N]
//	A confirms | A cannot reach it: REASON
//	A gathers NAME DATA
//	A tells RANK|all NAME DATA
//	A fails with CODE: REASON
//	A finishes | A leaves REASON | A is lost: REASON
//	after D
//	suspend
//	resume
//	close REASON
//
// Nodes are capital letters, and their hosts the same small ones; they are
// alive until they are said to be silent, by "A falls silent". The
// timeouts are torchrun's.
func TestTranscripts(t *testing.T) {
	transcript.Replay(t, func(t *testing.T) func(string) []string {
		s := &story{t: t}
		return s.tell
	})
}

// story is a transcript as far as it has been told.
type story struct {
	t     *testing.T
	terms Terms
	state *StateMachine
	now   Time
	alive map[NodeID]bool
}

func testConfig(terms Terms) Config {
	return Config{
		Terms: terms, JoinTimeout: 600 * time.Second, LastCall: 30 * time.Second, ReadTimeout: 60 * time.Second,
		HeartbeatTimeout: 15 * time.Second, ExitTimeout: 300 * time.Second,
	}
}

// tell gives the state machine an input, and returns its effects.
func (s *story) tell(line string) []string {
	s.t.Helper()
	var effects []string
	for _, effect := range s.input(line) {
		effects = append(effects, describe(effect))
	}
	if next, ok := s.state.Next(); ok && next <= s.now {
		s.t.Errorf("after %q at %v: the next deadline, %v, is not in the future", line, s.now, next)
	}
	return effects
}

func (s *story) input(line string) []Effect {
	words := strings.Fields(line)
	_, reason, _ := strings.Cut(line, ": ")
	switch words[0] {
	case "job":
		s.begin(words[1], transcript.Set(s.t, words[2:]))
		return nil
	case "after":
		return s.pass(words[1])
	case "suspend":
		s.state.Suspend()
		return nil
	case "resume":
		return s.state.Resume(s.now)
	case "close":
		return s.state.Close(End{Kind: Moved, Reason: strings.Join(words[1:], " ")})
	}
	id := NodeID(words[0][0])
	switch round := s.state.number; words[1] {
	case "joins":
		s.alive[id] = true
		return s.state.Join(s.now, id, s.node(words[0], transcript.Set(s.t, words[2:])))
	case "confirms":
		return s.state.Confirm(s.now, id, round, "")
	case "cannot":
		return s.state.Confirm(s.now, id, round, reason)
	case "gathers":
		return s.state.Contribute(s.now, id, round, words[2], []byte(words[3]))
	case "tells":
		to := ToAll
		if words[2] != "all" {
			to = transcript.Number(s.t, words[2])
		}
		return s.state.Tell(id, round, to, words[3], []byte(words[4]))
	case "fails":
		code := transcript.Number(s.t, strings.TrimSuffix(words[3], ":"))
		return s.state.Fail(s.now, id, round, Failure{Reason: reason, ExitCode: code})
	case "finishes":
		return s.state.Finish(s.now, id, round)
	case "leaves":
		return s.state.Leave(s.now, id, strings.Join(words[2:], " "))
	case "is":
		return s.state.Lose(s.now, id, reason)
	case "falls":
		s.alive[id] = false
		return nil
	}
	s.t.Fatalf("cannot read %q", line)
	return nil
}

func (s *story) begin(nodes string, set transcript.Settings) {
	low, high, _ := strings.Cut(nodes, ":")
	s.terms = Terms{
		RunID: "job", Min: transcript.Number(s.t, low), Max: transcript.Number(s.t, high),
		MaxRestarts: set.Number("restarts", 0), Static: set.Text("static", "false") == "true",
	}
	state, err := New(testConfig(s.terms))
	if err != nil {
		s.t.Fatal(err)
	}
	s.state, s.now, s.alive = state, 0, map[NodeID]bool{}
}

func (s *story) node(name string, set transcript.Settings) Node {
	host := set.Text("host", strings.ToLower(name))
	terms := s.terms
	terms.RunID = set.Text("job", "job")
	return Node{
		Terms: terms, Name: host, Rank: set.Number("rank", -1), Workers: set.Number("workers", 2),
		Role: set.Text("role", "default"), Master: host + ":1", Round: set.Number("round", 0),
	}
}

// pass lets time pass in steps in which nodes that are there say so.
func (s *story) pass(text string) []Effect {
	var effects []Effect
	for end := s.now + transcript.Duration(s.t, text); s.now < end; {
		s.now = min(s.now+time.Second, end)
		for id, alive := range s.alive {
			if alive {
				s.state.Heartbeat(s.now, id)
			}
		}
		effects = append(effects, s.state.Tick(s.now)...)
	}
	return effects
}

func describe(effect Effect) string {
	switch e := effect.(type) {
	case Assemble:
		r := e.Round
		return fmt.Sprintf("%c is node %d of %d in round %d: ranks from %d of %d, in its role %d of %d, master %s, "+
			"%d restarts",
			e.To, r.GroupRank, r.Nodes, r.Number, r.FirstRank, r.WorldSize, r.FirstRoleRank, r.RoleWorldSize, r.Master,
			r.Restarts)
	case Begin:
		return fmt.Sprintf("%c begins round %d", e.To, e.Round)
	case Standby:
		return fmt.Sprintf("%c is a spare", e.To)
	case Stop:
		if e.Counts {
			return fmt.Sprintf("%c restarts, and it counts: %s", e.To, e.Reason)
		}
		return fmt.Sprintf("%c restarts: %s", e.To, e.Reason)
	case Gathered:
		return fmt.Sprintf("%c has %s: %s", e.To, e.Name, strings.Join(texts(e.Data), " "))
	case GatherFailed:
		return fmt.Sprintf("%c does not get %s: %s", e.To, e.Name, e.Reason)
	case Told:
		return fmt.Sprintf("%c hears %s of node %d: %s", e.To, e.Name, e.From, e.Data)
	case Dismiss:
		kinds := map[EndKind]string{
			Finished: "finished", Left: "left", Failed: "failed", Closed: "closed",
			Refused: "refused", TimedOut: "timed out", Moved: "moved",
		}
		text := fmt.Sprintf("%c's part ends (%s): %s", e.To, kinds[e.End.Kind], e.End.Reason)
		if e.End.Failure != nil {
			text += fmt.Sprintf(" [exit code %d]", e.End.Failure.ExitCode)
		}
		return text
	}
	return fmt.Sprintf("unknown effect %T", effect)
}

func texts(data [][]byte) []string {
	var all []string
	for _, d := range data {
		all = append(all, string(d))
	}
	return all
}
