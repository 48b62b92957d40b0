package page

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/process/dump"
)

var update = flag.Bool("update", false, "write the pages to testdata and to docs/hangs.md")

// write is the page of a story.
func write(t *testing.T, s story) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s.ranks, s.missing); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestStories(t *testing.T) {
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			got := write(t, s)
			path := filepath.Join("testdata", s.name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
				t.Errorf("error %v, difference (-want +got):\n%s", err, diff)
			}
			checkPage(t, got)
		})
	}
}

// checkPage checks what holds for each page: it fits, and a terminal shows it as it is.
func checkPage(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > height {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if n := len([]rune(line)); n > columns {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("not printable: %q", line)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestWriteToAFullDisk(t *testing.T) {
	if err := Write(full{}, nil, nil); err == nil {
		t.Error("the error is lost")
	}
}

func TestRanges(t *testing.T) {
	for want, numbers := range map[string][]int{
		"0-4,6,7": {7, 0, 1, 2, 3, 4, 6}, "": nil, "3": {3, 3}, "0,1": {0, 1}, "0-2,5-7": {0, 1, 2, 5, 6, 7},
	} {
		if got := ranges(numbers); got != want {
			t.Errorf("%v: %s, want %s", numbers, got, want)
		}
	}
}

// FuzzWrite mixes ranks of the stories, with names of its own.
func FuzzWrite(f *testing.F) {
	f.Add("all_reduce", "/job/train.py", "S", "exited with code 1", int64(3), uint16(0x1234))
	f.Add("\x1b[2J", "<frozen runpy>", "D", "", int64(-1), uint16(0xffff))
	f.Fuzz(func(t *testing.T, function, file, state, exit string, number int64, pick uint16) {
		all := stories()
		ranks := append([]dump.Rank{}, all[int(pick)%len(all)].ranks...)
		ranks = append(ranks, all[int(pick>>8)%len(all)].ranks...)
		for i := range ranks {
			if pick>>(i%16)&1 == 0 {
				continue
			}
			r := &ranks[i]
			r.Exit, r.Host, r.Missing = exit, file, []string{function}
			r.Rank = int(number) % 100
			frame := dump.Frame{Function: function, File: file, Line: int(number)}
			r.Collectives = append(r.Collectives, dump.Collective{
				Group: function, Sequence: number, Operation: state, Type: file, State: exit, Python: []dump.Frame{frame},
				Ranks: []int{int(pick)}, Sizes: [][]int64{{number}},
			})
			if len(r.Processes) > 0 {
				*mainOf(r) = dump.Thread{State: state, Wait: function, Python: []dump.Frame{frame}}
			}
		}
		checkPage(t, write(t, story{ranks: ranks, missing: []string{file}}))
	})
}

// The thread and the process that say most are shown: a shell's child, and a thread that trains while the main one
// joins.
func TestShownThread(t *testing.T) {
	joins := []dump.Frame{{Function: "join", File: "/usr/lib/python3.11/threading.py", Line: 1112}, module}
	all := ranks(1, joins)
	all[0].Processes[0].Threads = append(all[0].Processes[0].Threads, dump.Thread{Python: allReduce})
	shell := dump.Process{PID: 3, Command: "sh", Threads: []dump.Thread{{State: "S", Wait: "do_wait"}}}
	all[0].Processes = append([]dump.Process{shell}, all[0].Processes...)
	r := newRank(all[0])
	if r.process.PID != 4000 || r.kind != collective || r.where != "train.py:214" {
		t.Errorf("process %d, %+v", r.process.PID, r.activity)
	}
	all[0].Processes[1].Threads[0].Python = sleeping // a main thread that does something of its own
	if r := newRank(all[0]); r.kind == collective {
		t.Errorf("%+v", r.activity)
	}
}

func TestActivities(t *testing.T) {
	frame := func(function, file string) dump.Thread {
		return dump.Thread{State: "S", Python: []dump.Frame{{Function: function, File: packages + file, Line: 1}, train}}
	}
	own := func(function, file string) dump.Thread {
		return dump.Thread{State: "S", Python: []dump.Frame{{Function: function, File: file, Line: 7}}}
	}
	for want, thread := range map[string]dump.Thread{
		"waits in broadcast (train.py:214)":             frame("broadcast", "torch/distributed/distributed_c10d.py"),
		"computes gradients (backward) (train.py:214)":  frame("backward", "torch/autograd/__init__.py"),
		"waits for the GPU (train.py:214)":              frame("synchronize", "torch/cuda/__init__.py"),
		"waits for data in a DataLoader (train.py:214)": frame("_next_data", "torch/utils/data/dataloader.py"),
		"waits for a lock or thread (train.py:214)":     frame("wait", "threading.py"),
		"waits for a socket or pipe (socket.py:7)":      own("recv", "/x/socket.py"),
		"is at broadcast.py:7":                          own("broadcast", "/job/broadcast.py"),
		"is at run.py:7":                                own("main", packages+"torch/distributed/run.py"),
		"told no Python stack":                          {State: "S"},
	} {
		if got := activityOf(thread).verb(false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
