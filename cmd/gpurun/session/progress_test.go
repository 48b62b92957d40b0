package session

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"
)

// onTerminal is a progress on something that counts as a terminal of 30 columns.
func onTerminal(out *bytes.Buffer) *Progress {
	return &Progress{out: out, width: 30, begun: time.Now()}
}

func TestProgressIsCutToTheTerminal(t *testing.T) {
	var out bytes.Buffer
	onTerminal(&out).show(1, 10, "verifying allreduce")
	if got, want := out.String(), "\rgpurun: 1 of 10: verifying al\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Runs that belong together count on, and share one rate.
func TestProgressOfSeveralRuns(t *testing.T) {
	var out bytes.Buffer
	p := onTerminal(&out)
	p.width = 80
	for run := range 2 {
		p.Within(run*5, 5, 10)
		p.begun, p.due = time.Now().Add(-time.Duration(run+1)*time.Minute), time.Time{}
		p.show(4, 10, "x")
	}
	want := "\rgpurun: 2 of 10, 0.0333 a second, 4m0s left: x\x1b[K" +
		"\rgpurun: 7 of 10, 0.0583 a second, 51s left: x\x1b[K"
	if got := out.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestProgressBeforeThePlan(t *testing.T) {
	var out bytes.Buffer
	onTerminal(&out).show(0, 0, "opening device 0")
	if got, want := out.String(), "\rgpurun: opening device 0\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestProgressMakesRoomForOtherOutput(t *testing.T) {
	var out bytes.Buffer
	p := onTerminal(&out)
	p.show(1, 2, "x")
	fmt.Fprintln(p.Beside(&out), "row 1")
	fmt.Fprintln(p.Beside(&out), "row 2")
	p.Clear()
	if got, want := out.String(), "\rgpurun: 1 of 2: x\x1b[K"+"\r\x1b[K"+"row 1\nrow 2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestProgressWaitsForALongRun(t *testing.T) {
	var out bytes.Buffer
	p := onTerminal(&out)
	p.due = time.Now().Add(time.Hour)
	p.show(1, 2, "x")
	p.Clear()
	if out.Len() > 0 {
		t.Errorf("it printed %q", &out)
	}
}

func TestProgressNeedsATerminal(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	p := NewProgress(write)
	p.due = time.Time{}
	p.show(1, 2, "x")
	p.Clear()
	write.Close()
	var out bytes.Buffer
	if _, err := out.ReadFrom(read); err != nil || out.Len() > 0 {
		t.Errorf("it printed %q, %v", &out, err)
	}
}

// A long run tells its rate and the time that is left.
func TestPace(t *testing.T) {
	for _, c := range []struct {
		done, total int
		took        time.Duration
		want        string
	}{
		{0, 10, time.Minute, ""},
		{10, 10, time.Minute, ""},
		{5, 10, time.Millisecond, ""},
		{5, 10, 10 * time.Second, ", 0.5 a second, 10s left"},
		{100, 1300, 10 * time.Second, ", 10 a second, 2m0s left"},
	} {
		if got := pace(c.done, c.total, c.took); got != c.want {
			t.Errorf("%d of %d in %v: %q, want %q", c.done, c.total, c.took, got, c.want)
		}
	}
}
