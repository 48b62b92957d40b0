package nodes

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Plan is what a node is about to run. But for Problem, and Workers where there
// is one, all nodes must have the same.
type Plan struct {
	Version string `json:"version"` // of gpurun
	Workers int    `json:"workers"` // ranks on this node; 0 is not known
	// Job is what [Fields] makes of the ranks' job.
	Job map[string]string `json:"job"`
	// Problem says why this node cannot take part; empty is that it can.
	Problem string `json:"problem,omitempty"`
}

// longestField is how long a field may be to be compared as it is.
const longestField = 64

// Fields are a struct's JSON fields, the long ones as digests, so that what
// differs between two nodes can be named.
func Fields(job any) (map[string]string, error) {
	text, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("describing the job: %w", err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("describing the job: %w", err)
	}
	fields := map[string]string{}
	for name, value := range raw {
		fields[name] = string(value)
		if len(value) > longestField {
			sum := sha256.Sum256(value)
			fields[name] = fmt.Sprintf("sha256:%x", sum[:8])
		}
	}
	return fields, nil
}

// Disagreement says that nodes were told different things.
type Disagreement struct{ Reason string }

func (e *Disagreement) Error() string { return e.Reason }

// Unfit says that a node cannot take part in the job.
type Unfit struct{ Reason string }

func (e *Unfit) Error() string { return e.Reason }

// compare returns, the same on all nodes, the first thing that keeps nodes with
// such names from running a job together. A node that cannot take part is named
// before the job is compared, because what it lacks may have changed its defaults.
func compare(plans []Plan, names []string) error {
	differ := func(what, advice string, of func(Plan) string) error {
		for node, p := range plans {
			if a, b := of(plans[0]), of(p); a != b {
				return &Disagreement{fmt.Sprintf("%s is %s on %s and %s on %s: %s", what, a, names[0], b, names[node], advice)}
			}
		}
		return nil
	}
	err := cmp.Or(
		differ("gpurun's version", "install the same on all nodes", func(p Plan) string { return p.Version }),
		compareWorkers(plans, names), unfit(plans, names),
	)
	if err != nil {
		return err
	}
	for _, field := range fieldNames(plans) {
		err := differ(fmt.Sprintf("%q of the job", field), "run the same command on all nodes", func(p Plan) string { return orNothing(p.Job[field]) })
		if err != nil {
			return err
		}
	}
	return nil
}

// compareWorkers compares the number of ranks of the nodes that know it.
func compareWorkers(plans []Plan, names []string) error {
	first := slices.IndexFunc(plans, func(p Plan) bool { return p.Workers > 0 })
	for node, p := range plans {
		if p.Workers > 0 && p.Workers != plans[first].Workers {
			return &Disagreement{fmt.Sprintf("there are %d processes on %s and %d on %s: give all nodes the same --nproc-per-node",
				plans[first].Workers, names[first], p.Workers, names[node])}
		}
	}
	return nil
}

// unfit names the nodes that cannot take part.
func unfit(plans []Plan, names []string) error {
	var errs []error
	for node, p := range plans {
		if p.Problem != "" {
			errs = append(errs, &Unfit{fmt.Sprintf("%s cannot take part: %s", names[node], p.Problem)})
		}
	}
	return errors.Join(errs...)
}

// fieldNames are those of all jobs, sorted.
func fieldNames(plans []Plan) []string {
	all := map[string]bool{}
	for _, p := range plans {
		for name := range p.Job {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func orNothing(value string) string {
	if value == "" {
		return "not given"
	}
	return value
}
