package pystack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/process/dump"
)

func TestRead(t *testing.T) {
	sleeping := []dump.Frame{
		{Function: "main", File: "/job/train.py", Line: 7},
		{Function: "<module>", File: "/job/train.py", Line: 9},
	}
	loader := []dump.Frame{{Function: "wait", File: "/usr/lib/python3.11/threading.py", Line: 320}}
	two := []dump.Thread{{Python: sleeping}, {Python: loader}}
	const dumped = `Thread 0x00007f388f1d46c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 320 in wait

Current thread 0x00007f388fc942c0 (most recent call first):
  File "/job/train.py", line 7 in main
  File "/job/train.py", line 9 in <module>
`
	for _, c := range []struct {
		name, text string
		want       Stacks
	}{
		{"nothing", "", Stacks{}},
		{"the main thread comes first", dumped, Stacks{Threads: two}},
		{
			"the last dump counts",
			"Current thread 0x00007f388fc942c0 (most recent call first):\n  File \"old.py\", line 1 in old\n" + dumped,
			Stacks{Threads: two},
		},
		{
			"the last dump counts when there is output between them",
			strings.ReplaceAll(dumped, "train", "old") + "\nstep 3\n\n" + dumped,
			Stacks{Threads: two},
		},
		{
			"output parts dumps of different threads",
			strings.ReplaceAll(dumped, "0x00007f", "0x00008f") + "step 3\n\n" + dumped,
			Stacks{Threads: two},
		},
		{"a thread comes once in a dump", dumped + "\n" + dumped, Stacks{Threads: two}},
		{
			"Python ended itself", "step 3\nFatal Python error: Segmentation fault\n\n" + dumped +
				"\nCurrent thread's C stack trace (most recent call first):\n  Binary file \"python\", at f+0x1 [0x2]\n" +
				"\nExtension modules: numpy.core (total: 1)\n",
			Stacks{Fatal: "Segmentation fault", Threads: two},
		},
		{
			"a dump on request comes after an error of an earlier process",
			"Fatal Python error: Aborted\n\n" + dumped + dumped,
			Stacks{Threads: two},
		},
		{
			"Python 3.14 names threads",
			"Thread 0x00007f388f1d46c0 [loader [1]] (most recent call first):\n  <no Python frame>\n\n" +
				"Current thread 0x00007f388fc942c0 [python3] (most recent call first):\n  Garbage-collecting\n",
			Stacks{Threads: []dump.Thread{{Name: "python3"}, {Name: "loader [1]"}}},
		},
		{
			"the end is missing",
			dumped + "Thread 0x00007f388f1d46c0 (most recent call first):\n  File \"a.py\", line 3 in f\n  File \"b",
			Stacks{Threads: []dump.Thread{{Python: []dump.Frame{{Function: "f", File: "a.py", Line: 3}}}}},
		},
		{
			"what faulthandler does not know", "Stack (most recent call first):\n  File ???, line ??? in ???\n  ...\n",
			Stacks{Threads: []dump.Thread{{Python: []dump.Frame{{Function: "???", File: "???"}}}}},
		},
		{
			"a traceback is no stack",
			"Traceback (most recent call last):\n  File \"/job/train.py\", line 7, in main\nValueError\n",
			Stacks{},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(strings.NewReader(c.text))
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("error %v, difference (-want +got):\n%s", err, diff)
			}
		})
	}
}

// CPython ends the list of threads at 100 of them. The main thread, which is the oldest, is then missing.
func TestReadOfManyThreads(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "Thread 0x%016x (most recent call first):\n  File \"w.py\", line %d in w\n\n", i, i+1)
	}
	got, err := Read(strings.NewReader(b.String() + "...\n"))
	if err != nil || len(got.Threads) != 101 || got.Threads[0].Python != nil {
		t.Errorf("%d threads, error %v, want an empty one and 100", len(got.Threads), err)
	}
	withCurrent := strings.Replace(b.String(), "Thread 0x0000000000000007", "Current thread 0x0000000000000007", 1)
	got, err = Read(strings.NewReader(withCurrent + "...\n"))
	if err != nil || len(got.Threads) != 100 || got.Threads[0].Python[0].Line != 8 {
		t.Errorf("%d threads, error %v, want the current one first", len(got.Threads), err)
	}
}

func TestReadPySpy(t *testing.T) {
	const text = `[{"pid":7,"thread_id":140,"thread_name":"loader","os_thread_id":9,"active":false,"owns_gil":false,
		"frames":[{"name":"wait","filename":"/usr/lib/threading.py","module":null,"short_filename":"threading.py",
		"line":320,"locals":null,"is_entry":false}],
		"process_info":null},
		{"pid":7,"thread_id":139,"thread_name":"MainThread","os_thread_id":7,"active":true,"owns_gil":true,
		"frames":[{"name":"main","filename":"/job/train.py","line":7}]}]`
	want := []dump.Thread{
		{TID: 7, Name: "MainThread", Python: []dump.Frame{{Function: "main", File: "/job/train.py", Line: 7}}},
		{TID: 9, Name: "loader", Python: []dump.Frame{{Function: "wait", File: "/usr/lib/threading.py", Line: 320}}},
	}
	got, err := ReadPySpy(strings.NewReader(text))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, difference (-want +got):\n%s", err, diff)
	}
	long := strings.Repeat(" ", pySpyBytes+1)
	for _, bad := range []string{"", "Error: Operation not permitted", `[{"frames":3}]`, long} {
		if _, err := ReadPySpy(strings.NewReader(bad)); err == nil {
			t.Errorf("%.40q is taken for py-spy's JSON", bad)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("Fatal Python error: Aborted\n\nCurrent thread 0x01 [a] (most recent call first):\n" +
		"  File \"a.py\", line 3 in f\n")
	f.Add("Thread 0x01 (most recent call first):\n  File \"\", line 3 in f\n...\n")
	f.Add(`[{"pid":1,"os_thread_id":1,"frames":[{"name":"f","filename":"a.py","line":-1}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		stacks, err := Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		threads, _ := ReadPySpy(strings.NewReader(text))
		for _, thread := range append(threads, stacks.Threads...) {
			for _, frame := range thread.Python {
				if frame.Line < 0 {
					t.Errorf("line %d", frame.Line)
				}
			}
		}
	})
}
