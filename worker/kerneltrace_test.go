package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/workload"
)

// The timeline of a kernel file has every step of one call, in order and on all ranks, named by what the step does.
func TestTimelinesOfKernelFiles(t *testing.T) {
	two := []string{
		"barrier barrier, line 10", "launch reduce_scatter, line 13", "barrier barrier, line 19",
		"launch all_gather, line 22", "barrier barrier, line 28",
	}
	for _, tt := range []struct {
		name         string
		size         int64
		world, graph int
		want         []string
	}{
		{"two_launches", 768, 3, 0, two},
		{"two_launches", 768, 2, 2, two}, // the recorded call is not part of a graph
		{"gather_matmul", 0, 2, 0, []string{"launch gather_matmul, line 1"}},
		{"halo", 1 << 10, 2, 0, []string{"launch halo, line 1"}},
		{
			"serving_onestage", 768, 2, 0,
			[]string{"launch serving_onestage<float, 2>*, line 1"},
		},
	} {
		job := userJob(t, filepath.Join(exampleFolder, tt.name+".toml"), tt.world)
		job.Record, job.GraphReplays, job.Cycles = true, tt.graph, 2
		if p := job.Products; p != nil {
			p.M, p.N, p.K = p.M[:1], p.N[:1], p.K[:1]
		} else {
			job.Sizes = []int64{tt.size}
		}
		checkSteps(t, ranks{world: tt.world}, job, tt.want)
	}
}

// checkSteps runs a job and compares the steps of its timeline, which take time and follow one another, on every rank.
func checkSteps(t *testing.T, g ranks, job workload.Job, want []string) {
	t.Helper()
	timeline := g.timeline(t, job)
	if len(timeline.Ranks) != g.world {
		t.Errorf("%s: %d ranks", job.Algorithms[0], len(timeline.Ranks))
	}
	for n, r := range timeline.Ranks {
		if r.Rank != n || r.Device != "gpurun simulator" {
			t.Errorf("%s: rank %d is %d on %s", job.Algorithms[0], n, r.Rank, r.Device)
		}
		var got []string
		end := int64(0)
		for _, s := range r.Steps {
			got = append(got, fmt.Sprintf("%s %s, line %d", s.Kind, s.Name, s.Line))
			if s.Begin != end || s.End <= s.Begin {
				t.Errorf("%s, rank %d: %+v", job.Algorithms[0], n, s)
			}
			end = s.End
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, rank %d:\n%s", job.Algorithms[0], n, diff)
		}
	}
}

// Fills, copies and resets are steps as well. Those that a rank leaves out are not in its timeline.
func TestTimelineOfEveryKindOfStep(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(exampleFolder, "two_launches.toml"))
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(filepath.Join(exampleFolder, "two_launches.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "mine.toml")
	changed := string(text) + `
[[steps]]
fill = "pad"
value = 1
[[steps]]
copy = "pad"
to = "more"
when = "rank == 1"
[buffers.pad]
size = 64
init = 0
reset = true
[buffers.more]
size = 64
`
	for file, content := range map[string][]byte{path: []byte(changed), filepath.Join(folder, "two_launches.ptx"): code} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job := userJob(t, path, 2)
	job.Record, job.Sizes = true, []int64{768}
	timeline := ranks{world: 2}.timeline(t, job)
	const reset, launches = "barrier, reset pad, barrier", "barrier, reduce_scatter, barrier, all_gather, barrier"
	for rank, want := range []string{
		reset + ", " + launches + ", fill pad", reset + ", " + launches + ", fill pad, copy pad to more",
	} {
		var names []string
		for _, s := range timeline.Ranks[rank].Steps {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("rank %d has %s, want %s", rank, got, want)
		}
	}
}

// A timeline of a collective is of one call, and of a kernel file.
func TestCollectivesWithoutTimeline(t *testing.T) {
	for want, change := range map[string]func(*workload.Job){
		"^a timeline is of one call: name one algorithm, size, type and operation, and not 2 cases$": func(j *workload.Job) {
			j.Sizes = []int64{64, 128}
		},
		"^allreduce oneshot has no timeline: that of a collective shows the steps of a kernel file, ": func(j *workload.Job) {
			j.Algorithms = []string{"oneshot"}
		},
		"^allreduce auto has no timeline": func(j *workload.Job) { j.Algorithms = []string{workload.Auto} },
	} {
		job := userJob(t, filepath.Join(exampleFolder, "two_launches.toml"), 2)
		job.Record, job.Sizes = true, []int64{64}
		change(&job)
		if err := job.Check(2); err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
