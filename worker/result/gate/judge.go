package gate

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/kernels"
	"gpurun/worker/result"
)

// Plan are the thresholds for a run. The zero Plan has none.
type Plan struct {
	// Rules are those that the user gave one by one. A rule that applies to no result is a
	// violation: otherwise a mistyped threshold would always pass.
	Rules []Rule
	// Profile, if there is one, is the profile that the user named, whatever the GPU. It is
	// a violation if none of its rules applies to any result.
	Profile *Profile
	// Auto are profiles, of which the first that fits the devices is applied. It is no
	// violation if none fits.
	Auto []Profile
}

// Empty reports whether there are no thresholds.
func (p Plan) Empty() bool { return len(p.Rules) == 0 && p.Profile == nil && p.Auto == nil }

// Judge compares every result of a complete run with the plan's thresholds. It
// returns nil for an empty plan.
func (p Plan) Judge(r result.Report) *result.Gate {
	if p.Empty() {
		return nil
	}
	j := judgment{gate: &result.Gate{Rules: []result.GateRule{}, Violations: []result.Violation{}}, results: r.Results}
	for _, rule := range p.Rules {
		if j.apply(rule) == 0 {
			j.violate(rule, "it applies to no result: nothing was measured for "+rule.about())
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

// judgment collects the rules and violations of a gate.
type judgment struct {
	gate    *result.Gate
	results []result.Result
}

// apply compares all results with a rule, and returns how many it applies to.
func (j *judgment) apply(r Rule) int {
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

// violate notes that a rule applies to no result.
func (j *judgment) violate(r Rule, why string) {
	j.gate.Violations = append(j.gate.Violations, result.Violation{
		Rule: r.String(), Source: r.Source, Want: r.Limit, Text: fmt.Sprintf("%s (%s): %s", r, r.Source, why),
	})
}

// applyNamed applies the rules of a profile for a number of ranks.
func (j *judgment) applyNamed(p Profile, world int) {
	j.gate.Profile = p.Name
	rules, matched := p.rules(world), 0
	for _, rule := range rules {
		matched += j.apply(rule)
	}
	why := "none of its rules applies to any result"
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

// applyFitting applies the first profile that fits the devices, or notes that none
// does. It also notes the rules that apply to no result although their collective ran.
func (j *judgment) applyFitting(profiles []Profile, r result.Report) {
	for _, p := range profiles {
		rules := p.rules(r.WorldSize)
		if !p.fits(r.Devices) || len(rules) == 0 {
			continue
		}
		j.gate.Profile = p.Name
		matched, unmatched := 0, []string(nil)
		for _, rule := range rules {
			n := j.apply(rule)
			if matched += n; n == 0 && j.missed(rule) {
				unmatched = append(unmatched, rule.about())
			}
		}
		switch {
		case matched == 0:
			j.gate.Note = "no threshold of the profile " + p.Name + " applies to any result: speed was not judged"
		case len(unmatched) > 0:
			j.gate.Note = fmt.Sprintf("the profile %s also has thresholds for %s, of which nothing was measured", p.Name,
				strings.Join(unmatched, ", "))
		}
		return
	}
	j.gate.Note = "no built-in profile of thresholds fits " + r.Machines() + ": speed was not judged"
}

// missed reports whether a rule's collective ran. A rule about an algorithm by a library,
// which runs only when the user asks for it, is missed only if that algorithm ran.
func (j *judgment) missed(r Rule) bool {
	foreign := false
	if c, ok := kernels.Find(r.Collective); ok {
		a, named := c.Algorithm(r.Algorithm)
		foreign = named && a.Needs.Library != ""
	}
	return slices.ContainsFunc(j.results, func(x result.Result) bool {
		return x.Collective == r.Collective && (!foreign || x.Algorithm == r.Algorithm)
	})
}

// about is the rule without its limit.
func (r Rule) about() string {
	text := r.String()
	return text[:strings.LastIndexByte(text, ':')]
}
