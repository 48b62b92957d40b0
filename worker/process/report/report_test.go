package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink keeps what a Writer writes.
type sink struct{ strings.Builder }

func (*sink) Close() error { return nil }

func TestMessagesArriveAsSent(t *testing.T) {
	peer := 2
	sent := []Message{
		{Kind: KindPhase, Phase: "verifying"},
		{Kind: KindProgress, Progress: &Progress{Done: 1, Total: 3}},
		{Kind: KindResult, Result: json.RawMessage(`{"bytes":1024}`)},
		{
			Kind: KindFailure, Failure: &Failure{
				Class: Timeout, Phase: "barrier", Message: "no answer", Peer: &peer, Consequence: true,
			},
		},
		{Kind: KindLog, Log: json.RawMessage(`{"msg":"two\nlines"}`)},
	}
	var out sink
	w := NewWriter(&out)
	for _, m := range sent {
		if err := w.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(strings.NewReader(out.String()), 0)
	for _, want := range sent {
		got, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end: %v, want io.EOF", err)
	}
}

func TestAnyPhaseArrivesAsSent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		phase := rapid.StringN(1, 200, -1).Draw(t, "phase")
		var out sink
		if err := NewWriter(&out).Phase(phase); err != nil {
			t.Fatal(err)
		}
		m, err := NewReader(strings.NewReader(out.String()), 0).Next()
		if err != nil || m.Phase != strings.ToValidUTF8(phase, "\uFFFD") {
			t.Fatalf("got %q, %v", m.Phase, err)
		}
	})
}

func TestWriterRefuses(t *testing.T) {
	tests := map[string]Message{
		"no kind":         {},
		"no payload":      {Kind: KindResult},
		"empty phase":     {Kind: KindPhase},
		"no failure":      {Kind: KindFailure},
		"unknown class":   {Kind: KindFailure, Failure: &Failure{Class: "bad luck", Message: "x"}},
		"silent failure":  {Kind: KindFailure, Failure: &Failure{Class: Internal}},
		"too long":        {Kind: KindPhase, Phase: strings.Repeat("x", MaxLine)},
		"result not JSON": {Kind: KindResult, Result: json.RawMessage(`{`)},
	}
	for name, m := range tests {
		var out sink
		if err := NewWriter(&out).Send(m); err == nil || out.Len() > 0 {
			t.Errorf("%s: error %v, %d bytes written", name, err, out.Len())
		}
	}
}

func TestReaderNamesTheRankAndGoesOn(t *testing.T) {
	garbage := map[string]string{
		"not JSON":        "Segmentation fault",
		"empty line":      "",
		"unknown kind":    `{"kind":"greeting"}`,
		"unknown field":   `{"kind":"phase","phase":"x","color":"red"}`,
		"no payload":      `{"kind":"progress"}`,
		"wrong type":      `{"kind":"phase","phase":7}`,
		"two values":      `{"kind":"phase","phase":"x"} {}`,
		"too long":        `{"kind":"phase","phase":"` + strings.Repeat("x", MaxLine) + `"}`,
		"deep nesting":    `{"kind":"result","result":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
		"binary":          "\x00\xff\x7fELF",
		"unknown failure": `{"kind":"failure","failure":{"class":"?","message":"x"}}`,
	}
	for name, line := range garbage {
		t.Run(name, func(t *testing.T) {
			r := NewReader(strings.NewReader(line+"\n"+`{"kind":"phase","phase":"next"}`+"\n"), 5)
			_, err := r.Next()
			var lineError *LineError
			if !errors.As(err, &lineError) || !strings.Contains(err.Error(), "rank 5") || len(err.Error()) > 600 {
				t.Fatalf("got %v", err)
			}
			if m, err := r.Next(); err != nil || m.Phase != "next" {
				t.Errorf("the line behind: %+v, %v", m, err)
			}
		})
	}
}

func TestReaderTellsATornLine(t *testing.T) {
	for _, text := range []string{`{"kind":"pha`, strings.Repeat("x", MaxLine+10)} {
		if _, err := NewReader(strings.NewReader(text), 0).Next(); err != io.ErrUnexpectedEOF {
			t.Errorf("got %v, want io.ErrUnexpectedEOF", err)
		}
	}
}

func TestOpenTakesThePipe(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	fd, err := unix.Dup(int(write.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	write.Close()
	t.Setenv(FDVariable, strconv.Itoa(fd))
	w, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the pipe would be inherited: flags %#x, %v", flags, err)
	}
	if _, err := Open(); !errors.Is(err, ErrNoAgent) {
		t.Errorf("a second Open: %v", err)
	}
	if err := w.Phase("joining"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if m, err := NewReader(read, 0).Next(); err != nil || m.Phase != "joining" {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestOpenRefusesOtherDescriptors(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, text := range []string{"", "x", "-1", "1", "99999", strconv.Itoa(int(file.Fd()))} {
		t.Setenv(FDVariable, text)
		if _, err := Open(); err == nil || !strings.Contains(err.Error(), FDVariable) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestConcurrentMessagesStayWhole(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w := NewWriter(write)
	const writers, each = 8, 50
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for j := range each {
				// Longer than PIPE_BUF, up to which the kernel itself keeps writes whole.
				if err := w.Phase(fmt.Sprintf("%d %d %s", i, j, strings.Repeat("x", 5000))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { wg.Wait(); w.Close() }()
	next := make([]int, writers)
	for r := NewReader(read, 0); ; {
		m, err := r.Next()
		if err == io.EOF {
			break
		}
		var i, j int
		if _, scanErr := fmt.Sscanf(m.Phase, "%d %d", &i, &j); err != nil || scanErr != nil || j != next[i] {
			t.Fatalf("%v, %v, writer %d message %d, want %d", err, scanErr, i, j, next[i])
		}
		next[i]++
	}
	for i, n := range next {
		if n != each {
			t.Errorf("writer %d: %d messages, want %d", i, n, each)
		}
	}
}

func TestLogsKeepTheirEntry(t *testing.T) {
	var out sink
	worker := zap.New(NewWriter(&out).Core(zapcore.InfoLevel)).Named("symm").With(zap.Int("peer", 3))
	before := time.Now()
	worker.Debug("below the level")
	worker.Warn("slow", zap.Duration("took", time.Second))
	m, err := NewReader(strings.NewReader(out.String()), 0).Next()
	if err != nil || m.Kind != KindLog {
		t.Fatalf("got %+v, %v", m, err)
	}

	core, logs := observer.New(zapcore.DebugLevel)
	if err := Relog(zap.New(core).With(zap.Int("rank", 1)), m.Log); err != nil {
		t.Fatal(err)
	}
	entry := logs.All()[0]
	if entry.Level != zapcore.WarnLevel || entry.Message != "slow" || entry.LoggerName != "symm" {
		t.Errorf("got %+v", entry.Entry)
	}
	if entry.Time.Before(before.Truncate(0)) || entry.Time.After(time.Now()) {
		t.Errorf("time %v is not the worker's", entry.Time)
	}
	fields, err := json.Marshal(entry.ContextMap())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"peer":3,"rank":1,"took":"1s"}`, string(fields)); diff != "" {
		t.Error(diff)
	}
}

func TestRelogRefusesGarbage(t *testing.T) {
	for _, text := range []string{``, `7`, `{"level":"loud"}`, `{"time":"yesterday"}`, `{"msg":1}`} {
		if err := Relog(zap.NewNop(), json.RawMessage(text)); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"kind":"phase","phase":"verifying"}` + "\n"))
	f.Add([]byte(`{"kind":"progress","progress":{"done":1,"total":2}}` + "\n" + `{"kind":`))
	f.Add([]byte(`{"kind":"failure","failure":{"class":"timeout","message":"m","peer":1}}` + "\n\n\n"))
	f.Add([]byte(`{"kind":"log","log":{"level":"info","msg":"m","time":"2025-01-02T03:04:05Z"}}` + "\n"))
	f.Add([]byte("\x00\n\xff{}[]\r\n{\"kind\":\"result\",\"result\":null}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(strings.NewReader(string(data)), 1)
		for range len(data) + 2 {
			m, err := r.Next()
			var lineError *LineError
			if err != nil && !errors.As(err, &lineError) {
				return
			}
			if err == nil && m.Kind == KindLog {
				_ = Relog(zap.NewNop(), m.Log) // must not crash
			}
			if err == nil && m.check() != nil {
				t.Fatalf("a message that check refuses: %+v", m)
			}
		}
		t.Fatal("the reader does not end")
	})
}
