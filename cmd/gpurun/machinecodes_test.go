package main

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/viper"

	"gpurun/cudart/driver"
)

// tableBelow returns the cells of the rows of the first table behind a text of a document, the heading first.
func tableBelow(t *testing.T, name, text string) (rows [][]string) {
	t.Helper()
	_, rest, found := strings.Cut(readDocument(t, name), text)
	if !found {
		t.Fatalf("%s lacks %q", name, text)
	}
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "|-"):
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		case len(rows) > 0:
			return rows
		}
	}
	return rows
}

// On a machine without a GPU, each command of the table in docs/exit-codes.md exits with the code of its row.
func TestExitCodesWithoutGPU(t *testing.T) {
	if _, err := driver.New().Devices(); err == nil {
		t.Skip("the table is about a machine without a GPU")
	}
	gpurun, rows := executable(t), tableBelow(t, "docs/exit-codes.md", "## Machines without a GPU")
	const least = 7
	if len(rows) <= least {
		t.Fatalf("the table has %d rows, with its heading", len(rows))
	}
	for _, row := range rows[1:] {
		words, code := shellWords(strings.Trim(row[0], "`")), 0
		cmd := exec.Command(gpurun, words[1:]...)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if ended := new(exec.ExitError); errors.As(err, &ended) {
			code = ended.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		if want := row[1]; strconv.Itoa(code) != want {
			t.Errorf("%s exits with %d, and the table has %s:\n%s", row[0], code, want, out)
		}
	}
}

// podRules are the rules of a manifest for a pod that has ended.
type podRules struct {
	container, job, restarts []any
	times                    int // that pods are created again
}

// rulesOf reads the rules of a Job, or of the Job in a JobSet; spec and job are the paths of their specs.
func rulesOf(t *testing.T, name, spec, job string) podRules {
	t.Helper()
	v := example(t, name)
	var r podRules
	times := spec + " backofflimit"
	inner := v.Sub(spec)
	if job != "" {
		times = spec + " failurepolicy maxrestarts"
		inner = viper.NewWithOptions(viper.KeyDelimiter(" "))
		replicated := v.Get(spec + " replicatedjobs").([]any)[0].(map[string]any)
		if err := inner.MergeConfigMap(replicated); err != nil {
			t.Fatal(err)
		}
		inner = inner.Sub(job)
	}
	r.times = v.GetInt(times)
	r.container = inner.Get("template spec containers").([]any)
	r.job = inner.Get("podfailurepolicy rules").([]any)
	if rules, ok := r.container[0].(map[string]any)["restartpolicyrules"]; ok {
		r.restarts = rules.([]any)
	}
	return r
}

// action is what Kubernetes does when the first container has exited with a code: Restart of the container, an action
// of the Job's policy, or Count towards the limit of the Job.
func (r podRules) action(code int) string {
	for _, rule := range r.restarts {
		rule := rule.(map[string]any)
		if appliesTo(rule["exitcodes"].(map[string]any), code) {
			return rule["action"].(string)
		}
	}
	name := r.container[0].(map[string]any)["name"]
	for _, rule := range r.job {
		rule := rule.(map[string]any)
		codes, ok := rule["onexitcodes"].(map[string]any)
		if ok && codes["containername"] == name && appliesTo(codes, code) {
			return rule["action"].(string)
		}
	}
	return "Count"
}

// appliesTo reports whether a rule about exit codes applies to a code.
func appliesTo(codes map[string]any, code int) bool {
	return slices.Contains(codes["values"].([]any), any(code)) == (codes["operator"] == "In")
}

// jobWords and jobSetWords are how docs/kubernetes.md writes actions of Jobs and JobSets, by the beginning of a cell.
var jobWords = map[string]string{
	"the Job fails at once": "FailJob", "the Job makes another pod, which backoffLimit does not count": "Ignore",
	"the Job makes another pod, at most": "Count",
}

var jobSetWords = map[string]string{
	"all pods are created again": "FailJob", "the JobSet fails": "Count", // backoffLimit is 0
	"its Job makes another pod, which backoffLimit does not count": "Ignore", "the JobSet begins again once": "Count",
	"the container starts again": "Restart", "the containers start again": "Restart",
}

// The manifests do with each exit code what docs/kubernetes.md says.
func TestManifestsActOnExitCodes(t *testing.T) {
	const (
		page    = "docs/kubernetes.md"
		jobSets = "Kubernetes acts on these codes:"
		smoke   = "hide the failure of the first."
	)
	for _, c := range []struct {
		manifest, spec, job string
		table               string
		column              int
		words               map[string]string
		least               int // codes of the table
	}{
		{"kubernetes-smoke.yaml", "spec", "", smoke, 2, jobWords, 8},
		{"kubernetes-jobset.yaml", "spec", "template spec", jobSets, 2, jobSetWords, 7},
		{"kubernetes-trainer.yaml", "spec template spec", "template spec", jobSets, 2, jobSetWords, 7},
		{"kubernetes-jobset-restart.yaml", "spec", "template spec", jobSets, 3, jobSetWords, 7},
	} {
		rules, checked := rulesOf(t, c.manifest, c.spec, c.job), 0
		for _, row := range tableBelow(t, page, c.table)[1:] {
			cell := row[c.column]
			for _, code := range codesOf(t, row[1]) {
				checked++
				if got, want := rules.action(code), actionOf(cell, c.words); got != want {
					t.Errorf("%s: exit code %d leads to %s, and %s says %q (%s)", c.manifest, code, got, page, cell, want)
				}
			}
			if found := atMost.FindStringSubmatch(cell); found != nil && found[1] != strconv.Itoa(rules.times) {
				t.Errorf("%s creates pods again %d times, and %s says %q", c.manifest, rules.times, page, cell)
			}
		}
		if checked < c.least {
			t.Errorf("%s: %d codes of %s were checked", c.manifest, checked, page)
		}
	}
}

var atMost = regexp.MustCompile(`at most (\d+) times`)

// codesOf are the exit codes in a cell. A program's own code is any that gpurun does not reserve. An eviction has none.
func codesOf(t *testing.T, cell string) (codes []int) {
	t.Helper()
	const own = 9
	switch cell {
	case "any":
		return nil
	case "its own":
		return []int{own}
	}
	for word := range strings.SplitSeq(cell, ", ") {
		code, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, code)
	}
	return codes
}

// actionOf is the action that a cell names; "": none.
func actionOf(cell string, words map[string]string) string {
	for text, action := range words {
		if strings.HasPrefix(cell, text) {
			return action
		}
	}
	return ""
}
