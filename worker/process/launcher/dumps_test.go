package launcher

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gpurun/worker/process/agent"
)

// pythonScript has the workers run a Python program, and records what is dumped.
func pythonScript(program string) string {
	return "exec /usr/bin/python3 -c '" + program + "'"
}

// withDumps has a job dump to its screen, and keep its logs.
func withDumps(t *testing.T, job *Job, hang time.Duration) {
	t.Helper()
	job.Dumps = &Dumps{Folder: t.TempDir(), OnFailure: true, Hang: hang, Stderr: job.Agent.Stderr}
}

// records reads the files dump-N.json of a job.
func records(t *testing.T, job Job) (all []record) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(job.Logs.Dir, "*", "attempt_*", "dump-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if page, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".txt"); err != nil || len(page) == 0 {
			t.Errorf("the page beside %s: %q, %v", file, page, err)
		}
		all = append(all, r)
	}
	return all
}

// waits is a program of which one rank fails once the others wait.
const waits = `
import os, time
folder, rank = os.environ["MEET"], os.environ["RANK"]
def wait_for_others():
    open(folder + rank, "w").close()
    time.sleep(60)
if rank != os.environ["FAILS"]: wait_for_others()
while sum(os.path.exists(folder + str(r)) for r in range(3)) < 2: time.sleep(0.01)
time.sleep(0.1)
os._exit(7)
`

func TestAFailureDumpsAllNodes(t *testing.T) {
	t.Parallel()
	for _, fails := range []string{"0", "2"} { // on the node that merges, and on the other one
		t.Run("rank "+fails, func(t *testing.T) {
			t.Parallel()
			var jobs []Job
			text := "export MEET=" + t.TempDir() + "/ FAILS=" + fails + "\n" + pythonScript(waits)
			results, errs, shown := onTwoNodes(t, 0, text, func(job *Job) {
				withDumps(t, job, 0)
				jobs = append(jobs, *job)
			})
			for i := range results {
				if results[i] == nil {
					t.Fatalf("node %d: %v", i, errs[i])
				}
			}
			all := records(t, jobs[0])
			if len(all) != 1 || len(all[0].Ranks) != 3 || len(all[0].Missing) > 0 || len(records(t, jobs[1])) > 0 {
				t.Fatalf("dumps of node 0: %+v; it showed:\n%s", all, &shown[0].text)
			}
			if reason := regexp.MustCompile(`^rank ` + fails + ` .* exited with code 7$`); !reason.MatchString(all[0].Reason) {
				t.Errorf("reason %q", all[0].Reason)
			}
			for _, r := range all[0].Ranks {
				waiting := len(r.Processes) == 1 && len(r.Processes[0].Threads[0].Python) > 0
				if fails := fails == string(rune('0'+r.Rank)); fails == waiting || fails != (r.Exit != "") || r.WorldSize != 3 {
					t.Errorf("rank %d: %+v", r.Rank, r)
				}
			}
			if strings.Contains(shown[1].text.String(), "what the workers are doing") {
				t.Error("the page is shown twice")
			}
		})
	}
}

// The workers of node 0 have ended. Those of the other one are silent, and so the job hangs.
func TestAJobOnTwoNodesHangs(t *testing.T) {
	t.Parallel()
	var jobs []Job
	results, errs, _ := onTwoNodes(t, 3, `test $RANK != 0 || exit 0; sleep 60`, func(job *Job) {
		withDumps(t, job, time.Second)
		jobs = append(jobs, *job)
	})
	for i, r := range results {
		hang := new(agent.HangError)
		if r == nil || !errors.As(r.Cause, &hang) || r.Restarts > 0 {
			t.Errorf("node %d: %+v, %v", i, r, errs[i])
		}
	}
	all := records(t, jobs[0])
	if len(all) != 1 || len(all[0].Ranks) != 3 || all[0].Ranks[0].Exit == "" || all[0].Ranks[1].Exit != "" {
		t.Errorf("dumps of node 0: %+v", all)
	}
}

// Only silence of all nodes is a hang. Node 0 ends after the other one, which would else be silent alone.
func TestANodeMayBeSilent(t *testing.T) {
	t.Parallel()
	over := filepath.Join(t.TempDir(), "over")
	text := fmt.Sprintf(`test $RANK = 0 || { sleep 3; touch %[1]s; exit; }
		until test -e %[1]s; do echo; sleep 0.1; done; echo; sleep 0.5`, over)
	results, errs, _ := onTwoNodes(t, 0, text, func(job *Job) { withDumps(t, job, 2*time.Second) })
	for i, r := range results {
		if r == nil || r.ExitCode() != 0 {
			t.Errorf("node %d: %+v, %v", i, r, errs[i])
		}
	}
}

// Each attempt has dumps of its own.
func TestDumpsAfterARestart(t *testing.T) {
	t.Parallel()
	job, _ := script(t, 3, "export MEET="+t.TempDir()+"/$TORCHELASTIC_RESTART_COUNT. FAILS=1\n"+pythonScript(waits))
	job.Torch.MaxRestarts = 1
	withDumps(t, &job, 0)
	if r := mustRun(t, job); r.ExitCode() != 7 || r.Restarts != 1 {
		t.Errorf("%+v", r)
	}
	all := records(t, job)
	if len(all) != 2 {
		t.Fatalf("%d dumps, want 2", len(all))
	}
	for i, r := range all {
		if len(r.Ranks) != 3 || len(r.Ranks[0].Processes) == 0 || len(r.Ranks[0].Processes[0].Threads[0].Python) == 0 {
			t.Errorf("dump %d: %+v", i, r)
		}
	}
}

// Workers that have ended on all nodes do not hang.
func TestHangOfSeveralNodes(t *testing.T) {
	silent, ended := silence{Silent: true}, silence{Ended: true}
	for _, c := range []struct {
		heard map[int]silence
		want  bool
	}{
		{map[int]silence{}, false},
		{map[int]silence{0: silent}, false},
		{map[int]silence{0: silent, 1: {}}, false},
		{map[int]silence{0: silent, 1: silent}, true},
		{map[int]silence{0: ended, 1: silent}, true},
		{map[int]silence{0: ended}, false},
		{map[int]silence{0: ended, 1: ended}, false},
	} {
		if got := hangs(c.heard, 2); got != c.want {
			t.Errorf("%v: %t", c.heard, got)
		}
	}
}
