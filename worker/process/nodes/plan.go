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

// Plan is what a node is about to run. All nodes must have the same, except for Problem,
// and for Workers on a node with a Problem.
type Plan struct {
	Version string `json:"version"` // of gpurun
	Workers int    `json:"workers"` // ranks on this node; 0: unknown
	// Job is the ranks' job, as [Fields] describes it.
	Job map[string]string `json:"job"`
	// Problem says why this node cannot take part; empty: it can.
	Problem string `json:"problem,omitempty"`
}

// longestField is the length, in bytes, up to which a field is compared itself and not as
// a digest.
const longestField = 64

// Fields are a struct's JSON fields, by name, so that an error can name the field that
// differs between two nodes. Long fields are replaced by digests.
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

// Disagreement says that the nodes' plans differ.
type Disagreement struct{ Reason string }

func (e *Disagreement) Error() string { return e.Reason }

// Unfit says that a node cannot take part in the job.
type Unfit struct{ Reason string }

func (e *Unfit) Error() string { return e.Reason }

// compare returns the first reason why nodes with these names cannot run a job together.
// It is the same on all nodes. A node that cannot take part comes before differences of
// the job: the device that it lacks may have changed the defaults of its job.
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
		err := differ(fmt.Sprintf("%q of the job", field), "run the same command on all nodes",
			func(p Plan) string { return orNothing(p.Job[field]) })
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
			return &Disagreement{fmt.Sprintf("there are %d processes on %s and %d on %s: give all nodes the same "+
				"--nproc-per-node",
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
