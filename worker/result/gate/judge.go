package gate

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/kernels"
	"gpurun/worker/result"
)

// Plan is what results are to be held against. The zero Plan is nothing.
type Plan struct {
	// Rules are asked for one by one. One that no result is about is a
	// violation: a threshold that cannot be missed guards nothing.
	Rules []Rule
	// Profile, if there is one, is asked for by name, whatever the GPU. That none of its
	// rules is about any result is a violation.
	Profile *Profile
	// Auto are profiles of which the one that fits the devices is gone by. None
	// need fit.
	Auto []Profile
}

// Empty reports whether there is nothing to hold results against.
func (p Plan) Empty() bool { return len(p.Rules) == 0 && p.Profile == nil && p.Auto == nil }

// Judge holds every result of a run that came to its end against the plan. It
// returns nil for an empty plan.
func (p Plan) Judge(r result.Report) *result.Gate {
	if p.Empty() {
		return nil
	}
	j := judgement{gate: &result.Gate{Rules: []result.GateRule{}, Violations: []result.Violation{}}, results: r.Results}
	for _, rule := range p.Rules {
		if j.apply(rule) == 0 {
			j.violate(rule, "no result is about it: nothing was measured for "+rule.about())
		}
	}
	switch {
	case p.Profile != nil:
		j.applyNamed(*p.Profile, r.WorldSize)
	case p.Auto != nil:
		j.applyFitting(p.Auto, r)
	}
	return j.gate
}

// judgement is a verdict in the making.
type judgement struct {
	gate    *result.Gate
	results []result.Result
}

// apply holds all results against a rule, and returns how many it is about.
func (j *judgement) apply(r Rule) int {
	summary := result.GateRule{
		Rule: r.String(), Source: r.Source, Collective: r.Collective, Metric: string(r.Metric), Limit: r.Limit,
	}
	for i, x := range j.results {
		if !r.matches(x) {
			continue
		}
		summary.Matched++
		value := r.value(x)
		if summary.Worst == nil || r.margin(value) < r.margin(*summary.Worst) {
			summary.Worst = &value
		}
		if r.margin(value) < 0 {
			j.gate.Violations = append(j.gate.Violations, result.Violation{
				Rule: r.String(), Source: r.Source, Result: &i, Want: r.Limit, Got: value, Text: r.complain(x),
			})
		}
	}
	j.gate.Rules = append(j.gate.Rules, summary)
	return summary.Matched
}

// violate notes that a rule was of no use.
func (j *judgement) violate(r Rule, why string) {
	j.gate.Violations = append(j.gate.Violations, result.Violation{
		Rule: r.String(), Source: r.Source, Want: r.Limit, Text: fmt.Sprintf("%s (%s): %s", r, r.Source, why),
	})
}

// applyNamed applies the rules of a profile for a number of ranks.
func (j *judgement) applyNamed(p Profile, world int) {
	j.gate.Profile = p.Name
	rules, matched := p.rules(world), 0
	for _, rule := range rules {
		matched += j.apply(rule)
	}
	why := "none of its rules is about anything that was measured"
	switch {
	case matched > 0:
		return
	case len(rules) == 0:
		why = fmt.Sprintf("it has no rule for %d ranks", world)
	}
	j.gate.Violations = append(j.gate.Violations, result.Violation{
		Rule: p.Name, Source: p.Name, Text: fmt.Sprintf("profile %s: %s", p.Name, why),
	})
}

// applyFitting applies the profile that fits the devices, or says that none
// does. Which of its rules are of no use, though their collective ran, is noted: else
// nobody sees that a collective goes unjudged.
func (j *judgement) applyFitting(profiles []Profile, r result.Report) {
	for _, p := range profiles {
		rules := p.rules(r.WorldSize)
		if !p.fits(r.Devices) || len(rules) == 0 {
			continue
		}
		j.gate.Profile = p.Name
		matched, idle := 0, []string(nil)
		for _, rule := range rules {
			n := j.apply(rule)
			if matched += n; n == 0 && j.missed(rule) {
				idle = append(idle, rule.about())
			}
		}
		switch {
		case matched == 0:
			j.gate.Note = "no threshold of the profile " + p.Name + " is about anything that was measured: speed was not judged"
		case len(idle) > 0:
			j.gate.Note = fmt.Sprintf("the profile %s also judges %s, of which nothing was measured", p.Name, strings.Join(idle, ", "))
		}
		return
	}
	j.gate.Note = "no built-in profile of thresholds fits " + r.Machines() + ": speed was not judged"
}

// missed reports whether a rule is about a collective that ran. Algorithms of
// libraries run only when asked for: where they did not, nobody misses their rules.
func (j *judgement) missed(r Rule) bool {
	c, _ := kernels.Find(r.Collective)
	a, named := c.Algorithm(r.Algorithm)
	foreign := named && a.Needs.Library != ""
	return slices.ContainsFunc(j.results, func(x result.Result) bool {
		return x.Collective == r.Collective && (!foreign || x.Algorithm == r.Algorithm)
	})
}

// about is the rule without its limit.
func (r Rule) about() string {
	text := r.String()
	return text[:strings.LastIndexByte(text, ':')]
}
