package trainjob

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"gpurun/worker/process/agent"
	"gpurun/worker/process/report"
	"gpurun/worker/process/torchenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// controller stands for Kubeflow Trainer's: it takes what its handler takes, by the same rules.
type controller struct {
	mu     sync.Mutex
	status []map[string]any // of each report
	token  string
	code   int // of answers; 0: 200
}

func (c *controller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var request struct {
		TrainerStatus map[string]any `json:"trainerStatus"`
	}
	switch {
	case r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer "+c.token:
		w.WriteHeader(http.StatusForbidden)
	case json.Unmarshal(body, &request) != nil:
		w.WriteHeader(http.StatusUnprocessableEntity)
	case c.code != 0:
		w.WriteHeader(c.code)
	default:
		c.status = append(c.status, request.TrainerStatus)
		_, _ = w.Write(body)
	}
}

// metrics are those of the last report.
func (c *controller) metrics(t *testing.T) map[string]string {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.status) == 0 {
		t.Fatal("nothing was reported")
	}
	all := map[string]string{}
	for _, m := range c.status[len(c.status)-1]["metrics"].([]any) {
		m := m.(map[string]any)
		all[m["name"].(string)] = m["value"].(string)
	}
	return all
}

// start sets the variables to those of a controller that serves TLS, and returns what the log says.
func start(t *testing.T, c *controller) (*Reporter, *observer.ObservedLogs) {
	t.Helper()
	c.token = "secret"
	server := httptest.NewTLSServer(c)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for name, text := range map[string]string{"ca.crt": string(certificate), "token": "secret\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv(URLVariable, server.URL+"/apis/trainer.kubeflow.org/v1alpha1/namespaces/n/trainjobs/j/status")
	t.Setenv(CAVariable, filepath.Join(dir, "ca.crt"))
	t.Setenv(TokenVariable, filepath.Join(dir, "token"))
	core, logs := observer.New(zap.InfoLevel)
	return New(zap.New(core)), logs
}

// workerReports posts a status as a worker does.
func workerReports(t *testing.T, env []string, text string) int {
	t.Helper()
	_, url, _ := strings.Cut(env[0], "=")
	response, err := http.Post(url, "application/json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	return response.StatusCode
}

var job = torchenv.Job{WorldSize: 16, GroupSize: 2, RestartCount: 1}

// What workers have reported stays when gpurun reports, and the other way round.
func TestReportsAreMerged(t *testing.T) {
	c := &controller{}
	r, logs := start(t, c)
	env := r.Begin(job)
	code := workerReports(t, env, `{"trainerStatus": {"progressPercentage": 45, "future": "field",
		"metrics": [{"name": "loss", "value": "0.25"}], "lastUpdatedTime": "2020-01-01T00:00:00Z"}}`)
	if m := c.metrics(t); code != 200 || m["loss"] != "0.25" || m["gpurun_ranks"] != "16" || m["gpurun_nodes"] != "2" ||
		m["gpurun_state"] != "running" || m["gpurun_restarts"] != "1" {
		t.Errorf("code %d, metrics %v", code, m)
	}
	r.Failed(&agent.Failure{Rank: 5, PID: 7, Report: &report.Failure{
		Class: report.Timeout, Message: strings.Repeat("it hangs ", 20),
	}})
	r.Close()
	m := c.metrics(t)
	if m["loss"] != "0.25" || m["gpurun_state"] != "hung" || m["gpurun_ranks"] != "0" ||
		!strings.HasPrefix(m["gpurun_failure"], "rank 5 (pid 7) failed: it hangs") || len(m["gpurun_failure"]) > maxValue {
		t.Errorf("after a hang: %v", m)
	}
	last := c.status[len(c.status)-1]
	at, err := time.Parse(time.RFC3339, last["lastUpdatedTime"].(string))
	if last["progressPercentage"] != 45.0 || last["future"] != "field" || err != nil || time.Since(at) > time.Minute {
		t.Errorf("after a hang: %v", last)
	}
	if logs.Len() > 0 {
		t.Errorf("log %v", logs.All())
	}
}

func TestEnds(t *testing.T) {
	for word, outcome := range map[string]*agent.Outcome{
		"succeeded": {}, "ended": {Signal: 15}, "failed": {First: &agent.Failure{ExitCode: 3}},
	} {
		c := &controller{}
		r, _ := start(t, c)
		r.Begin(job)
		r.End(outcome)
		r.Close()
		if m := c.metrics(t); m["gpurun_state"] != word {
			t.Errorf("want %s, got %v", word, m)
		}
	}
	c := &controller{}
	r, _ := start(t, c)
	r.Begin(job)
	r.End(&agent.Outcome{Cause: errors.New("node 1 (b) is gone")})
	r.Close()
	if m := c.metrics(t); m["gpurun_state"] != "failed" || m["gpurun_failure"] != "node 1 (b) is gone" {
		t.Error(m)
	}
}

// A node without the first ranks passes on what its workers say, and says nothing itself.
func TestOtherNodes(t *testing.T) {
	c := &controller{}
	r, _ := start(t, c)
	other := job
	other.GroupRank, other.FirstRank = 1, 8
	env := r.Begin(other)
	workerReports(t, env, `{"trainerStatus": {"metrics": [{"name": "loss", "value": "1"}]}}`)
	r.End(&agent.Outcome{})
	r.Close()
	if m := c.metrics(t); len(c.status) != 1 || len(m) != 1 {
		t.Errorf("%d reports, the last %v", len(c.status), m)
	}
}

// Nothing of it fails a job, and it is said once.
func TestControllerCannotBeReached(t *testing.T) {
	c := &controller{code: http.StatusInternalServerError}
	r, logs := start(t, c)
	env := r.Begin(job)
	if code := workerReports(t, env, `{"trainerStatus": {"progressPercentage": 1}}`); code != c.code {
		t.Errorf("the worker gets %d", code)
	}
	if code := workerReports(t, []string{env[0] + "x"}, "{}"); code != http.StatusNotFound {
		t.Errorf("a stranger gets %d", code)
	}
	r.upstream.url = "https://127.0.0.1:1/"
	if code := workerReports(t, env, `{"trainerStatus": {"progressPercentage": 1}}`); code != http.StatusBadGateway {
		t.Errorf("the worker gets %d", code)
	}
	r.End(&agent.Outcome{})
	r.Close()
	if logs.Len() != 1 || !strings.Contains(logs.All()[0].Message, "the job goes on: https://127.0.0.1") {
		t.Errorf("log %v", logs.All())
	}
}

func TestOff(t *testing.T) {
	on, _ := start(t, &controller{})
	on.Close()
	t.Setenv(CAVariable, "/nonexistent")
	core, logs := observer.New(zap.InfoLevel)
	if r := New(zap.New(core)); r != nil || logs.Len() != 1 {
		t.Errorf("%v, log %v", r, logs.All())
	}
	t.Setenv(URLVariable, "")
	r := New(zap.New(core))
	if r.Close(); r != nil || r.Begin(job) != nil || logs.Len() != 1 {
		t.Errorf("%v, log %v", r, logs.All())
	}
}
