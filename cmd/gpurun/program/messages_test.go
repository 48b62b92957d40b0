package program

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
)

// With --log-format json a message is an entry, in one line; what workers write stays as it is.
func TestMessagesAsEntries(t *testing.T) {
	var out bytes.Buffer
	m := NewMessages(&out)
	fmt.Fprintf(m, "gpurun: first\n")
	m.SetLogFormat("json")
	fmt.Fprintf(m, "gpurun: second\n  its details\n")
	fmt.Fprintf(m, "[rank 0] gpurun: third\n")
	lines := bytes.SplitAfter(out.Bytes(), []byte("\n"))
	if len(lines) != 4 || string(lines[0]) != "gpurun: first\n" || string(lines[2]) != "[rank 0] gpurun: third\n" {
		t.Fatalf("%q", lines)
	}
	var entry struct{ Level, Time, Msg string }
	if err := json.Unmarshal(lines[1], &entry); err != nil {
		t.Fatal(err)
	}
	if entry.Level != "warn" || entry.Time == "" || entry.Msg != "second\n  its details" {
		t.Errorf("%+v", entry)
	}
}

// No escape sequence of messages and log entries comes from data. What workers write stays as it is.
func TestMessagesEscapeControlCharacters(t *testing.T) {
	var out bytes.Buffer
	m := NewMessages(&out)
	log, err := NewLogger("info", "console", m)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(m, "gpurun: a\x1b[31m\xff\n")
	fmt.Fprint(m, "[rank 0] \x1b[31m\n")
	log.Info("b\x1b[32m")
	if want := "gpurun: a\\u001b[31m\\xff\n[rank 0] \x1b[31m\n"; !bytes.HasPrefix(out.Bytes(), []byte(want)) ||
		!bytes.HasSuffix(out.Bytes(), []byte(`b\u001b[32m`+"\n")) {
		t.Errorf("%q", out.String())
	}
}
