package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gpurun/worker/process/processtest"
)

// logLine is a line of the log that says nothing of the end.
var logLine = regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d\d\d (debug|info) `)

// logStamp stands before warnings and errors of the log.
var logStamp = regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d\d\d `)

// pageTitle begins a page about what the processes were doing when the job failed.
const pageTitle = "gpurun: what the "

// firstSentence is the first line on standard error by which gpurun says how the job ended; without one, the first
// that the log does not have.
func firstSentence(stderr string) string {
	var other string
	for line := range strings.Lines(stderr) {
		line = strings.TrimRight(line, "\n")
		if sentence, ok := strings.CutPrefix(line, "gpurun: "); ok && !strings.HasPrefix(line, pageTitle) {
			return sentence
		}
		if other == "" && !logLine.MatchString(line) {
			other = logStamp.ReplaceAllString(line, "")
		}
	}
	return other
}

// volatile are parts of a sentence that differ from run to run, with what the page has for them.
var volatile = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`pid \d+`), "pid P"},
	{regexp.MustCompile(`(127\.0\.0|192\.0\.2)\.(\d+):\d+`), "$1.$2:PORT"},
	{regexp.MustCompile(`gpurun-[0-9a-f]{32}`), "gpurun-N"},
	{regexp.MustCompile(`results\.json\.[0-9a-f]+`), "results.json.N"},
	{regexp.MustCompile(`gpurun_job-[-_0-9]+`), "gpurun_job-N"},
	{regexp.MustCompile(`starting rank \d+`), "starting rank R"},
	{regexp.MustCompile(`/tmp/\S*/(\S+)`), "$$TMPDIR/$1"},
	{regexp.MustCompile(`crash-\d+`), "crash-N"},
	{regexp.MustCompile(`node (\d) \([^)]*\)`), "node $1 (HOST)"},
	{regexp.MustCompile(`the agent on \S+,`), "the agent on HOST,"},
	{regexp.MustCompile(`only \d+ more threads`), "only N more threads"},
	{regexp.MustCompile(`ulimit -([a-z]) is \d{4,}`), "ulimit -$1 is N"},
}

// settled is a sentence without what differs from run to run.
func settled(sentence string) string {
	for _, v := range volatile {
		sentence = v.pattern.ReplaceAllString(sentence, v.text)
	}
	return sentence
}

// socket is an abstract Unix socket: one with a name and without a file.
type socket struct{ inode, name string }

// abstractSockets lists those of this network namespace.
func abstractSockets() ([]socket, error) {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var all []socket
	for line := range strings.Lines(string(text)) {
		// Num RefCount Protocol Flags Type St Inode Path
		if words := strings.Fields(line); len(words) == 8 && strings.HasPrefix(words[7], "@") {
			all = append(all, socket{words[6], words[7]})
		}
	}
	return all, nil
}

// sockets names the abstract sockets that the processes of the scene hold.
func (s *Scene) sockets() ([]string, error) {
	pids, err := processtest.Marked(s.mark)
	if err != nil {
		return nil, err
	}
	named, err := abstractSockets()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, pid := range pids {
		links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil {
			return nil, err
		}
		for _, link := range links {
			target, _ := os.Readlink(link) // it may be closed by now
			for _, n := range named {
				if target == "socket:["+n.inode+"]" && !slices.Contains(all, n.name) {
					all = append(all, n.name)
				}
			}
		}
	}
	return all, nil
}
