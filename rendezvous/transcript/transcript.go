// Package transcript replays stories about state machines, for their tests. A story is a file
// under testdata. A line of it is an input to the state machine; the indented lines below are what
// comes of it, which the test compares, and rewrites with -update. A # begins a comment.
package transcript

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the transcripts with what the state machine does now")

// indent stands before what comes of an input.
const indent = "    "

// Replay runs every story in testdata as a test of its own. begin returns what tells a new
// state machine a line, and what comes of it, a line each.
func Replay(t *testing.T, begin func(t *testing.T) (tell func(line string) []string)) {
	t.Helper()
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
			got := retell(string(want), begin(t))
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

// retell returns the story's inputs with what comes of them now.
func retell(story string, tell func(line string) []string) string {
	var out strings.Builder
	for line := range strings.Lines(story) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, indent) {
			continue // what came of it the last time
		}
		out.WriteString(line + "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		for _, came := range tell(line) {
			out.WriteString(indent + came + "\n")
		}
	}
	return out.String()
}

// Settings are the KEY=VALUE words of a line.
type Settings struct {
	t      *testing.T
	values map[string]string
}

// Set reads settings.
func Set(t *testing.T, words []string) Settings {
	t.Helper()
	s := Settings{t, map[string]string{}}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			t.Fatalf("cannot read %q: want KEY=VALUE", word)
		}
		s.values[key] = value
	}
	return s
}

// Text is a setting's value, or else what it is otherwise.
func (s Settings) Text(key, otherwise string) string {
	if value, ok := s.values[key]; ok {
		return value
	}
	return otherwise
}

// Number is Text for whole numbers.
func (s Settings) Number(key string, otherwise int) int {
	s.t.Helper()
	return Number(s.t, s.Text(key, strconv.Itoa(otherwise)))
}

// Duration is Text for durations.
func (s Settings) Duration(key string, otherwise time.Duration) time.Duration {
	s.t.Helper()
	return Duration(s.t, s.Text(key, otherwise.String()))
}

// Number reads a whole number.
func Number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Duration reads a duration.
func Duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
