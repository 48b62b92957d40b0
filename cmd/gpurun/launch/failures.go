package launch

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"gpurun/worker/process/launcher"
	"gpurun/worker/process/signals"
	"gpurun/worker/result/printable"
)

// explainFailures prints torchrun's table of the workers that failed, in the
// order of time: programs and people look for its words. Error files that go with the
// job are not named: the table has what they say. In a log for programs the table is an entry.
func explainFailures(w io.Writer, argv []string, failed []launcher.Failure, temporary, entry bool) {
	if len(failed) == 0 {
		return
	}
	title := entryPoint(argv) + " FAILED"
	var blocks []string
	width := utf8.RuneCountInString(title)
	for i, f := range failed {
		if temporary {
			f.ErrorFile = ""
		}
		block := failureBlock(i, f)
		blocks = append(blocks, block)
		for line := range strings.Lines(block) {
			width = max(width, utf8.RuneCountInString(strings.TrimRight(line, "\n")))
		}
	}
	const most = 60
	width = min(width, most)
	border, rule := strings.Repeat("=", width), strings.Repeat("-", width)
	others := cmp.Or(strings.Join(blocks[1:], "\n"), "  <NO_OTHER_FAILURES>")
	prefix := ""
	if entry {
		prefix = "gpurun: " // see program.Messages
	}
	table := fmt.Sprintf("%s\n%s\n%s\nFailures:\n%s\n%s\nRoot Cause (first observed failure):\n%s\n%s\n",
		border, title, rule, others, rule, blocks[0], border)
	io.WriteString(w, prefix+printable.Text(table))
}

// failureBlock is one worker's entry in the table.
func failureBlock(index int, f launcher.Failure) string {
	host, err := os.Hostname()
	if err != nil {
		host = "<N/A>"
	}
	code := f.ExitCode
	if f.Signal != 0 {
		code = -int(f.Signal)
	}
	return fmt.Sprintf(`[%d]:
  time      : %s
  host      : %s
  rank      : %d (local_rank: %d)
  exitcode  : %d (pid: %d)
  error_file: %s
  traceback : %s`, index, f.Time.Format("2006-01-02_15:04:05"), host, f.Rank, f.LocalRank, code, f.PID,
		cmp.Or(f.ErrorFile, "<N/A>"), strings.ReplaceAll(strings.TrimRight(traceback(f), "\n"), "\n", "\n  "))
}

// traceback is what a worker recorded about its failure, or else how it ended.
func traceback(f launcher.Failure) string {
	switch {
	case f.Record != nil:
		return cmp.Or(f.Record.Callstack, f.Record.Message, "<N/A>")
	case f.Signal != 0:
		return fmt.Sprintf("Signal %d (%s) received by PID %d", int(f.Signal), signals.Name(f.Signal), f.PID)
	}
	return "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
}

// entryPoint is what failed: the script or module, or the program.
func entryPoint(argv []string) string {
	for i, word := range argv[1:] {
		if i == 0 && word != "-u" {
			break
		}
		if !strings.HasPrefix(word, "-") {
			return word
		}
	}
	return argv[0]
}
