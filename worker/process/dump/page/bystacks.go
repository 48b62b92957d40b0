package page

import (
	"fmt"
	"slices"
	"strings"
)

// byStacks concludes from where the ranks stand which of them the others wait for.
func (j job) byStacks() []finding {
	living := j.living()
	known := slices.DeleteFunc(slices.Clone(living), func(r rank) bool { return r.kind == unknown || r.kind == noPython })
	waiting := waitingIn(known)
	if len(waiting) == 0 {
		waiting = slices.DeleteFunc(slices.Clone(known), func(r rank) bool { return r.kind != backward })
		if len(waiting) == len(known) {
			return nil // all of them compute
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	var others []rank
	for _, r := range known {
		if r.kind != waiting[0].kind && r.kind != collective {
			others = append(others, r)
		}
	}
	calls, members := by(waiting, func(r rank) activity { return r.activity })
	switch {
	case len(calls) > 1:
		return []finding{{j.differ(calls, members, others), byStacks}}
	case len(others) > 0:
		return []finding{{j.leftOut(calls[0], members[calls[0]], others), byStacks}}
	case len(waiting) == len(living) && len(living) < len(j.ranks):
		return nil // the ranks that have ended are the finding
	case len(waiting) < j.size:
		return []finding{{j.incomplete(calls[0], members[calls[0]]), byStacks}}
	}
	text := fmt.Sprintf("all %d ranks %s: none is missing, so the network, a GPU, or unlike sizes are left as causes",
		j.size, calls[0].verb(true))
	return []finding{{text, byStacks}}
}

// differ says that ranks wait in more than one call, the fewest first.
func (j job) differ(calls []activity, members map[activity][]int, others []rank) string {
	slices.SortStableFunc(calls, func(a, b activity) int { return len(members[a]) - len(members[b]) })
	var parts []string
	for i, call := range calls {
		who := named(members[call])
		if i == 0 {
			who = j.of(members[call])
		}
		parts = append(parts, who+" "+call.verb(len(members[call]) > 1))
	}
	text := strings.Join(some3(parts), ", ") + ": not the same call"
	if len(others) > 0 {
		text += "; " + standing(others)
	}
	return text
}

// leftOut says which ranks are not in the call in which all others wait.
func (j job) leftOut(call activity, waiting []int, others []rank) string {
	missing := numbersOf(others)
	where := call.what
	if call.kind == backward {
		where = "backward"
	}
	if call.where != "" {
		where += " (" + call.where + ")"
	}
	if len(others) == 1 && len(waiting) == j.size-1 && collectives[call.what] {
		return fmt.Sprintf("%s never entered %s, where %s %s for it; it %s", j.of(missing), where, named(waiting),
			plural(waiting, "waits", "wait"), others[0].verb(false))
	}
	return fmt.Sprintf("%s %s not in %s, where %s %s; %s", j.of(missing), plural(missing, "is", "are"), where,
		named(waiting), plural(waiting, "waits", "wait"), standing(others))
}

// incomplete says that ranks wait in one call, and that nothing is known of the others.
func (j job) incomplete(call activity, waiting []int) string {
	ended := j.numbers(func(r rank) bool { return !r.alive() })
	var rest []int
	for n := range j.size {
		if !slices.Contains(waiting, n) && !slices.Contains(ended, n) {
			rest = append(rest, n)
		}
	}
	return fmt.Sprintf("%s of %d %s; of %s no Python stack is known", named(waiting), j.size, call.verb(len(waiting) > 1),
		named(rest))
}

// standing says where ranks are that are in no collective.
func standing(ranks []rank) string {
	places, members := by(ranks, func(r rank) activity { return r.activity })
	var parts []string
	for _, place := range places {
		parts = append(parts, fmt.Sprintf("%s %s", named(members[place]), place.verb(len(members[place]) > 1)))
	}
	return strings.Join(some3(parts), ", ")
}

// some3 keeps a sentence short.
func some3(parts []string) []string {
	if more := len(parts) - 3; more > 1 {
		return append(parts[:3:3], fmt.Sprintf("and %d more places", more))
	}
	return parts
}

func numbersOf(ranks []rank) (all []int) {
	for _, r := range ranks {
		all = append(all, r.number())
	}
	return all
}

// allAlike says what the ranks have in common, where nothing says more.
func (j job) allAlike() []finding {
	living := j.living()
	if len(living) == 0 || len(living) < j.size {
		return nil
	}
	if _, members := by(living, func(r rank) kind { return r.kind }); len(members) > 1 {
		return nil
	}
	common := living[0].activity
	if places, _ := by(living, func(r rank) string { return r.where }); len(places) > 1 {
		common.where = ""
	}
	switch common.kind {
	case input, lock, socket, sleep, backward, gpuWait:
		return []finding{{fmt.Sprintf("all %d ranks %s", j.size, common.verb(true)), "Python stacks at one moment"}}
	}
	busy := !slices.ContainsFunc(living, func(r rank) bool { return r.GPU == nil || r.GPU.Utilisation < 90 })
	if silent := j.silence(); busy && silent != "" {
		return []finding{{"all GPUs are busy, and there was " + silent, "NVML"}}
	}
	return nil
}
