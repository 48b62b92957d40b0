package worker

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseInjection(t *testing.T) {
	for text, want := range map[string]Injection{
		"corrupt:rank=1,byte=4097": {Kind: Corrupt, Rank: 1, Byte: 4097},
		"corrupt:byte=0,rank=0":    {Kind: Corrupt, Rank: 0, Byte: 0},
		"kill:rank=2":              {Kind: Kill, Rank: 2, Byte: -1},
		"hang:rank=3":              {Kind: Hang, Rank: 3, Byte: -1},
	} {
		got, err := ParseInjection(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{
		"", "corrupt", "corrupt:", "corrupt:rank=1", "corrupt:byte=1", "explode:rank=1", "kill:rank=-1",
		"kill:rank=x", "kill:rank=1,byte=2", "hang:rank=99999999999", "kill:rank=1,", "kill:rank",
	} {
		if got, err := ParseInjection(text); err == nil {
			t.Errorf("%q became %+v", text, got)
		}
	}
}

func FuzzParseInjection(f *testing.F) {
	f.Add("corrupt:rank=1,byte=4097")
	f.Add("kill:rank=2")
	f.Add("hang:rank==,")
	f.Fuzz(func(t *testing.T, text string) {
		in, err := ParseInjection(text)
		if err == nil && (in.Rank < 0 || (in.Kind == Corrupt) != (in.Byte >= 0)) {
			t.Errorf("%q became %+v", text, in)
		}
	})
}

// small is a job that makes sense.
func small() Job {
	return Job{
		Collective: "allreduce", Algorithms: []string{"naive", "auto"}, DTypes: []string{"float", "half"},
		Ops: []string{"sum"}, Sizes: []int64{0, 3, 1000, 1 << 22}, Cycles: 2, Verify: true,
	}
}

func TestSweepHasEveryCase(t *testing.T) {
	job := small()
	s, err := planSweep(job, 4)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * 2 * 2 * 4 * 2; len(s.cases) != want {
		t.Errorf("%d cases, want %d", len(s.cases), want)
	}
	seen := map[string]int{}
	for _, c := range s.cases {
		seen[c.String()]++
	}
	for text, want := range map[string]int{
		"allreduce naive float sum, 0 bytes out of place":      4, // 3 bytes hold no float
		"allreduce naive half sum, 2 bytes in place":           2,
		"allreduce oneshot float sum, 1000 bytes in place":     2,
		"allreduce twoshot half sum, 4194304 bytes in place":   2,
		"allreduce oneshot half sum, 4194304 bytes in place":   0,
		"allreduce naive float sum, 4194304 bytes in place":    2,
		"allreduce oneshot half sum, 1000 bytes out of place":  2,
		"allreduce twoshot half sum, 1000 bytes out of place":  0,
		"allreduce naive half sum, 4194304 bytes out of place": 2,
	} {
		if seen[text] != want {
			t.Errorf("%s: %d times, want %d", text, seen[text], want)
		}
	}
}

func TestLayoutHoldsTheLargestCase(t *testing.T) {
	s, err := planSweep(small(), 4)
	if err != nil {
		t.Fatal(err)
	}
	l := s.layout(4)
	if l.scratch < 37000 || l.send-l.scratch < 4<<22 || l.recv-l.send < 1<<22 || l.total-l.recv < 1<<22 {
		t.Errorf("layout %+v is too small", l)
	}
	for _, at := range []int64{l.scratch, l.send, l.recv, l.total} {
		if at%256 != 0 {
			t.Errorf("layout %+v is not aligned", l)
		}
	}
}

func TestSenselessJobsAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(j *Job){
		"collective":   func(j *Job) { j.Collective = "allreduc" },
		"algorithm":    func(j *Job) { j.Algorithms = []string{"threeshot"} },
		"dtype":        func(j *Job) { j.DTypes = []string{"quarter"} },
		"op":           func(j *Job) { j.Ops = []string{"median"} },
		"no such rank": func(j *Job) { j.Inject = []Injection{{Kind: Kill, Rank: 4}} },
		"no such byte": func(j *Job) { j.Inject = []Injection{{Kind: Corrupt, Byte: 1 << 22}} },
		"unseen":       func(j *Job) { j.Verify, j.Inject = false, []Injection{{Kind: Corrupt}} },
	} {
		job := small()
		spoil(&job)
		var usage *UsageError
		if err := job.Check(4); !errors.As(err, &usage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	job := small()
	if err := job.Check(73); err == nil {
		t.Error("73 ranks are accepted")
	}
	job.Inject = []Injection{{Kind: Corrupt, Rank: 71, Byte: 1<<22 - 1}}
	if err := job.Check(72); err != nil {
		t.Error(err)
	}
}
