package trainjob

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The controller's limits.
const (
	maxMetrics = 256
	maxValue   = 64 // bytes of a metric's name, and of its value
)

// request is a report, in the controller's words.
type request struct {
	Status status `json:"trainerStatus,omitempty"`
}

// status has the fields of a report. Those that gpurun does not change are passed on as they are.
type status map[string]json.RawMessage

const (
	metricsField = "metrics"
	timeField    = "lastUpdatedTime"
)

type metric struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// merged is the report to post: the workers' last, and what gpurun knows of the job. It is not ours to post where
// another node reports.
func (r *Reporter) merged() (message []byte, ours bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.job == nil {
		return nil, false
	}
	message, err := json.Marshal(request{r.status.with(r.job.metrics())})
	return message, err == nil // what is merged was decoded before
}

// with returns the status with more metrics, and the time.
func (s status) with(more []metric) status {
	all := status{timeField: quoted(time.Now().UTC().Format(time.RFC3339))}
	for field, value := range s {
		if field != timeField {
			all[field] = value
		}
	}
	var metrics []metric
	if json.Unmarshal(s[metricsField], &metrics) != nil && s[metricsField] != nil || len(metrics)+len(more) > maxMetrics {
		return all // the controller judges it
	}
	all[metricsField], _ = json.Marshal(append(metrics, more...)) // strings always have a form in JSON
	return all
}

func quoted(s string) json.RawMessage { return json.RawMessage(strconv.Quote(s)) }

// metrics are what gpurun adds.
func (s *state) metrics() []metric {
	all := []metric{
		{"gpurun_state", s.word},
		{"gpurun_ranks", strconv.Itoa(s.ranks)},
		{"gpurun_nodes", strconv.Itoa(s.nodes)},
		{"gpurun_restarts", strconv.Itoa(s.restarts)},
	}
	if s.failure != "" {
		all = append(all, metric{"gpurun_failure", clip(s.failure)})
	}
	return all
}

// clip shortens a sentence to the length of a metric's value.
func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const dots = "..."
	if len(text) <= maxValue {
		return text
	}
	cut := maxValue - len(dots)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + dots
}
