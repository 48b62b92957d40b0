package membership

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpurun/rendezvous/transcript"
)

// TestTranscripts replays the stories under testdata, as package transcript does. Inputs are
//
//	group world=3 [generation=1] [join=30s] [heartbeat=5s]
//	A joins as 0|any [world=N] [host=H] [pid=N] [local=N] [timeout=D]
//	A calls barrier|all-gather|broadcast NAME [number=N] [root=N] [data=TEXT] [timeout=D]
//	A cancels NAME
//	A beats
//	A leaves
//	A is lost: REASON
//	abort REASON
//	after D
//
// Sessions are capital letters.
func TestTranscripts(t *testing.T) {
	transcript.Replay(t, func(t *testing.T) func(string) []string {
		s := &story{t: t}
		return s.tell
	})
}

// story is a transcript as far as it has been told.
type story struct {
	t     *testing.T
	state *StateMachine
	now   Time
	calls []pendingCall // by CallID
}

type pendingCall struct {
	who  string
	what string // such as "barrier ready"
	name string
}

// tell gives the state machine an input, and returns its effects.
func (s *story) tell(line string) []string {
	s.t.Helper()
	var effects []string
	for _, effect := range s.input(line) {
		effects = append(effects, s.describe(effect))
	}
	s.checkDeadline(line)
	return effects
}

// checkDeadline makes sure that a driver which waits for Next makes progress.
func (s *story) checkDeadline(line string) {
	s.t.Helper()
	if next, ok := s.state.Next(); ok && next <= s.now {
		s.t.Errorf("after %q at %v: the next deadline, %v, is not in the future", line, s.now, next)
	}
}

func (s *story) input(line string) []Effect {
	words := strings.Fields(line)
	switch words[0] {
	case "group":
		s.begin(words[1:])
		return nil
	case "after":
		s.now += transcript.Duration(s.t, words[1])
		return s.state.Tick(s.now)
	case "abort":
		return s.state.Abort(&Aborted{Reason: strings.Join(words[1:], " ")})
	}
	id := SessionID(words[0][0])
	switch words[1] {
	case "joins":
		return s.join(id, words[3], transcript.Set(s.t, words[4:]))
	case "calls":
		return s.arrive(id, words[0], words[2], words[3], transcript.Set(s.t, words[4:]))
	case "cancels":
		return s.state.Cancel(s.findCall(words[0], words[2]))
	case "beats":
		s.state.Heartbeat(s.now, id)
		return nil
	case "leaves":
		return s.state.Leave(id)
	case "is":
		_, reason, _ := strings.Cut(line, ": ")
		return s.state.Lose(id, reason)
	}
	s.t.Fatalf("cannot read %q", line)
	return nil
}

func (s *story) begin(words []string) {
	set := transcript.Set(s.t, words)
	state, err := New(Config{
		WorldSize:        set.Number("world", 0),
		Generation:       set.Number("generation", 1),
		JoinTimeout:      set.Duration("join", 30*time.Second),
		HeartbeatTimeout: set.Duration("heartbeat", time.Hour),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.state, s.now, s.calls = state, 0, nil
}

func (s *story) join(id SessionID, rank string, set transcript.Settings) []Effect {
	who := Member{
		Rank:      AnyRank,
		LocalRank: set.Number("local", 0),
		WorldSize: set.Number("world", 0),
		Host:      set.Text("host", "node0"),
		PID:       set.Number("pid", int(id-'A')+100),
	}
	if rank != "any" {
		who.Rank = transcript.Number(s.t, rank)
	}
	return s.state.Join(s.now, id, who, set.Duration("timeout", 0))
}

func (s *story) arrive(id SessionID, who, op, name string, set transcript.Settings) []Effect {
	ops := map[string]Operation{"barrier": Barrier, "all-gather": AllGather, "broadcast": Broadcast}
	call := CallID(len(s.calls))
	s.calls = append(s.calls, pendingCall{who, op + " " + name, name})
	return s.state.Arrive(s.now, id, call, Arrival{
		Op:       ops[op],
		Name:     name,
		Sequence: uint64(set.Number("number", 0)),
		Root:     set.Number("root", 0),
		Data:     []byte(set.Text("data", "")),
		Timeout:  set.Duration("timeout", 10*time.Second),
	})
}

// findCall is the latest call of that name.
func (s *story) findCall(who, name string) CallID {
	for i := len(s.calls) - 1; i >= 0; i-- {
		if s.calls[i].who == who && s.calls[i].name == name {
			return CallID(i)
		}
	}
	s.t.Fatalf("%s has not called %q", who, name)
	return 0
}

func (s *story) describe(effect Effect) string {
	switch e := effect.(type) {
	case Welcome:
		return fmt.Sprintf("%c is welcome as rank %d", e.To, e.Rank)
	case Dismiss:
		if e.Err == nil {
			return fmt.Sprintf("%c may go", e.To)
		}
		return fmt.Sprintf("%c is dismissed: %v", e.To, e.Err)
	case Deliver:
		call := s.calls[e.Call]
		return strings.TrimSpace(fmt.Sprintf("%s's %s is done %s", call.who, call.what, quoteAll(e.Data)))
	case Fail:
		call := s.calls[e.Call]
		return fmt.Sprintf("%s's %s failed: %v", call.who, call.what, e.Err)
	}
	s.t.Fatalf("unknown effect %T", effect)
	return ""
}

func quoteAll(data [][]byte) string {
	quoted := make([]string, len(data))
	for i, d := range data {
		quoted[i] = strconv.Quote(string(d))
	}
	return strings.Join(quoted, " ")
}
