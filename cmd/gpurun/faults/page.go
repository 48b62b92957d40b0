package faults

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Table is the matrix as a table in Markdown: a row for each cell that ran, or could not.
func Table(outcomes map[Cell]Outcome) string {
	var b strings.Builder
	b.WriteString("| fault | victim | moment | exit code | first sentence | seconds beyond grace | grace | left |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|\n")
	for _, c := range Cells() {
		o, ok := outcomes[c]
		if !ok {
			continue
		}
		if o.NotRun != "" {
			fmt.Fprintf(&b, "| %s | %s | %s | | not run: %s | | | |\n", c.Fault, c.Victim, c.Moment, o.NotRun)
			continue
		}
		want, _ := Expected(c)
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %.1f | %v | %s |\n", c.Fault, c.Victim, c.Moment, o.Code,
			strings.ReplaceAll(settled(o.Sentence), "|", `\|`), o.Beyond.Seconds(), want.Grace, nothing(o.Left))
	}
	return b.String()
}

func nothing(left []string) string {
	if len(left) == 0 {
		return "nothing"
	}
	return strings.Join(left, ", ")
}

// blanks is a table of the cells that do not occur.
func blanks() string {
	var b strings.Builder
	b.WriteString("| fault | victim | moment | reason |\n|---|---|---|---|\n")
	for _, row := range meaningless() {
		var victims, moments []string
		for _, v := range row.victims {
			victims = append(victims, string(v))
		}
		for _, m := range row.moments {
			moments = append(moments, string(m))
		}
		if len(moments) == len(Moments()) {
			moments = []string{"all"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", row.fault, strings.Join(victims, ", "), strings.Join(moments, ", "),
			row.reason)
	}
	return b.String()
}

const page = `# Fault matrix

<!-- scripts/fault-matrix.sh writes this page from what it measures. -->

This page shows how a job ends after a fault. ` + "`scripts/fault-matrix.sh`" + ` causes each fault, to each victim, at
each moment, and measures:

- the exit code of gpurun, and the first sentence on standard error;
- the time from the fault to the end of gpurun: the documented grace, and the seconds beyond it;
- what is left 2 s after the end: processes, files in TMPDIR and /dev/shm, abstract sockets.

The test fails if a result differs from cmd/gpurun/faults/expect.go, if gpurun takes more than %v beyond its grace, or if
anything is left. In a job of several nodes, the row is about the node that survives. [Exit codes](exit-codes.md) and
[launching](launching.md#when-a-worker-fails) have the rules.

| moment | job on one node | job on two nodes |
|---|---|---|
| before join | a rank of a collective is held before it joins; the other waits | two of three nodes wait for the third |
| in the collective | two ranks measure an allreduce in the simulator | both nodes run a program; for a partition of a collective, an allreduce |
| at the end | the program of one of two ranks has ended | the worker of one node has ended |

| fault | what happens |
|---|---|
%s
Guard and agent are the two processes of gpurun on each node: see the [glossary](glossary.md). Node 0 serves the rendezvous.

## Results

Measured on %s with Linux %s: %d cases, of which %d could not run. The slowest took %.1f s beyond its grace.

%s
## Combinations that do not occur

%s`

// sentences are what the faults do, a row each.
func sentences() string {
	var b strings.Builder
	for _, f := range Faults() {
		fmt.Fprintf(&b, "| %s | %s |\n", f.Name, f.Does)
	}
	return b.String()
}

// WritePage writes the page of the matrix, with all cells.
func WritePage(name string, outcomes map[Cell]Outcome) error {
	for _, c := range Cells() {
		if _, ran := outcomes[c]; !ran && Meaningless(c) == "" {
			return errors.New("the page is of the whole matrix, and a cell is missing: " + c.String())
		}
	}
	var system unix.Utsname
	if err := unix.Uname(&system); err != nil {
		return err
	}
	var notRun int
	var slowest time.Duration
	for _, o := range outcomes {
		slowest = max(slowest, o.Beyond)
		if o.NotRun != "" {
			notRun++
		}
	}
	text := fmt.Sprintf(page, MostBeyond, sentences(), time.Now().Format(time.DateOnly),
		unix.ByteSliceToString(system.Release[:]),
		len(outcomes), notRun, slowest.Seconds(), Table(outcomes), blanks())
	return os.WriteFile(name, []byte(text), 0o644)
}
