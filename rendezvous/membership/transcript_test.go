package membership

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the transcripts with what the machine does now")

// TestTranscripts replays the stories under testdata. A line is an input to
// the machine; the indented lines below it are the effects, which the test
// compares, and rewrites with -update:
//
//	group world=3 [generation=1] [join=30s] [heartbeat=5s]
//	A joins as 0|any [world=N] [host=H] [pid=N] [local=N] [timeout=D]
//	A calls barrier|all-gather|broadcast NAME [number=N] [root=N] [data=TEXT] [timeout=D]
//	A cancels NAME
//	A beats
//	A leaves
//	A departs REASON
//	abort REASON
//	after D
//
// Sessions are capital letters. A # begins a comment.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := replay(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("transcript (-want +got):\n%s", diff)
			}
		})
	}
}

// story is a transcript as far as it has been told.
type story struct {
	t       *testing.T
	machine *Machine
	now     Time
	calls   []pendingCall // by CallID
}

type pendingCall struct {
	who  string
	what string // such as "barrier ready"
	name string
}

// replay returns the transcript's inputs with the effects that they have.
func replay(t *testing.T, transcript string) string {
	t.Helper()
	s := &story{t: t}
	var out strings.Builder
	for line := range strings.Lines(transcript) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "    ") {
			continue // an effect of the last time
		}
		fmt.Fprintln(&out, line)
		if line == "" || line[0] == '#' {
			continue
		}
		for _, effect := range s.input(line) {
			fmt.Fprintln(&out, "    "+s.describe(effect))
		}
		s.checkDeadline(line)
	}
	return out.String()
}

// checkDeadline makes sure that a driver which waits for Next makes progress.
func (s *story) checkDeadline(line string) {
	s.t.Helper()
	if next, ok := s.machine.Next(); ok && next <= s.now {
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
		s.now += s.duration(words[1])
		return s.machine.Tick(s.now)
	case "abort":
		return s.machine.Abort(&Aborted{Reason: strings.Join(words[1:], " ")})
	}
	id := SessionID(words[0][0])
	switch words[1] {
	case "joins":
		return s.join(id, words[3], s.settings(words[4:]))
	case "calls":
		return s.arrive(id, words[0], words[2], words[3], s.settings(words[4:]))
	case "cancels":
		return s.machine.Cancel(s.findCall(words[0], words[2]))
	case "beats":
		s.machine.Heartbeat(s.now, id)
		return nil
	case "leaves":
		return s.machine.Leave(id)
	case "departs":
		return s.machine.Depart(id, strings.Join(words[2:], " "))
	}
	s.t.Fatalf("cannot read %q", line)
	return nil
}

func (s *story) begin(words []string) {
	set := s.settings(words)
	machine, err := New(Config{
		WorldSize:        s.number(set.get("world", "0")),
		Generation:       s.number(set.get("generation", "1")),
		JoinTimeout:      s.duration(set.get("join", "30s")),
		HeartbeatTimeout: s.duration(set.get("heartbeat", "1h")),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.machine, s.now, s.calls = machine, 0, nil
}

func (s *story) join(id SessionID, rank string, set settings) []Effect {
	who := Member{
		Rank:      AnyRank,
		LocalRank: s.number(set.get("local", "0")),
		WorldSize: s.number(set.get("world", "0")),
		Host:      set.get("host", "node0"),
		PID:       s.number(set.get("pid", fmt.Sprint(int(id-'A')+100))),
	}
	if rank != "any" {
		who.Rank = s.number(rank)
	}
	return s.machine.Join(s.now, id, who, s.duration(set.get("timeout", "0")))
}

func (s *story) arrive(id SessionID, who, op, name string, set settings) []Effect {
	ops := map[string]Operation{"barrier": Barrier, "all-gather": AllGather, "broadcast": Broadcast}
	call := CallID(len(s.calls))
	s.calls = append(s.calls, pendingCall{who, op + " " + name, name})
	return s.machine.Arrive(s.now, id, call, Arrival{
		Op:       ops[op],
		Name:     name,
		Sequence: uint64(s.number(set.get("number", "0"))),
		Root:     s.number(set.get("root", "0")),
		Data:     []byte(set.get("data", "")),
		Timeout:  s.duration(set.get("timeout", "10s")),
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

// settings are the KEY=VALUE words of a line.
type settings map[string]string

func (s *story) settings(words []string) settings {
	set := settings{}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			s.t.Fatalf("cannot read %q: want KEY=VALUE", word)
		}
		set[key] = value
	}
	return set
}

func (set settings) get(key, otherwise string) string {
	if value, ok := set[key]; ok {
		return value
	}
	return otherwise
}

func (s *story) number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *story) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}
