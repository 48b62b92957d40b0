package worker

import (
	"errors"
	"testing"
)

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
	l := s.layout(4, 4)
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
