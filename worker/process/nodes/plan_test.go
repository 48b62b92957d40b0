package nodes

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	names := []string{"node 0 (a)", "node 1 (b)"}
	plan := func(change func(*Plan)) Plan {
		p := Plan{Version: "1", Workers: 8, Job: map[string]string{"sizes": "[1024]", "seed": "1"}}
		if change != nil {
			change(&p)
		}
		return p
	}
	for want, other := range map[string]Plan{
		"": plan(nil),
		"gpurun's version is 1 on node 0 (a) and 2 on node 1 (b): install the same on all nodes": plan(func(p *Plan) {
			p.Version = "2"
		}),
		"there are 8 processes on node 0 (a) and 4 on node 1 (b): " +
			"give all nodes the same --nproc-per-node": plan(func(p *Plan) {
			p.Workers, p.Problem = 4, "no GPU"
		}),
		"node 1 (b) cannot take part: no GPU": plan(func(p *Plan) { p.Workers, p.Problem, p.Job = 0, "no GPU", nil }),
		`"sizes" of the job is [1024] on node 0 (a) and [2048] on node 1 (b): ` +
			`run the same command on all nodes`: plan(func(p *Plan) {
			p.Job = map[string]string{"sizes": "[2048]", "seed": "1"}
		}),
		`"root" of the job is not given on node 0 (a) and 3 on node 1 (b): ` +
			`run the same command on all nodes`: plan(func(p *Plan) {
			p.Job = map[string]string{"sizes": "[1024]", "seed": "1", "root": "3"}
		}),
	} {
		got := ""
		err := compare([]Plan{plan(nil), other}, names)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if want != "" && errors.As(err, new(*Unfit)) != (other.Problem != "" && other.Workers == 0) {
			t.Errorf("%T for %s", err, want)
		}
	}
}

// Two long values are compared by all of their text.
func TestFields(t *testing.T) {
	type job struct {
		Short int    `json:"short"`
		Long  string `json:"long"`
		Empty string `json:"empty,omitempty"`
	}
	long := strings.Repeat("x", longestField)
	a, errA := Fields(job{Short: 1, Long: long + "a"})
	b, errB := Fields(job{Short: 1, Long: long + "b"})
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if a["long"] == b["long"] || !strings.HasPrefix(a["long"], "sha256:") {
		t.Errorf("%q and %q", a["long"], b["long"])
	}
	delete(a, "long")
	if diff := cmp.Diff(map[string]string{"short": "1"}, a); diff != "" {
		t.Error(diff)
	}
	if _, err := Fields(func() {}); err == nil {
		t.Error("a function was described")
	}
}
