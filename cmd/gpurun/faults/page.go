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

// blanks is a table of the cells that mean nothing.
func blanks() string {
	var b strings.Builder
	b.WriteString("| fault | victim | moment | why it means nothing |\n|---|---|---|---|\n")
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

A fault hits a victim at a moment. This page says for each combination how gpurun ended: the exit code, the first sentence on
standard error, the time to the end beyond the documented grace, and what was left. On several nodes the row is about the node that
survives. [exit codes](exit-codes.md) and [launching](launching.md#when-a-worker-fails) have the rules.

Every cell has an expectation in cmd/gpurun/faults/expect.go, which the test compares: exit code, a part of the sentence, at most %v
beyond the grace, nothing left. "Left" means processes, files in TMPDIR and /dev/shm, and abstract sockets, 2 s after the end.

| moment | one node | two nodes |
|---|---|---|
| before join | one rank of a collective is held before it joins, the other waits for it | two of three nodes wait for the third |
| in the collective | both ranks measure an allreduce in the simulator | both nodes run a program |
| at the end | one of two ranks of a program has ended | one node's worker has ended |

Measured on %s with Linux %s: %d cells, %d of them not run; the slowest took %.1f s beyond its grace.

%s
## Cells that mean nothing

%s`

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
	text := fmt.Sprintf(page, MostBeyond, time.Now().Format(time.DateOnly), unix.ByteSliceToString(system.Release[:]),
		len(outcomes), notRun, slowest.Seconds(), Table(outcomes), blanks())
	return os.WriteFile(name, []byte(text), 0o644)
}
