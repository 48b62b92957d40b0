package check

import (
	"fmt"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// sitePair is two instructions, or commands, that accessed the same bytes in this order.
type sitePair struct{ first, second string }

// pairs are those of the run, each at least once, in no order.
func (r *run) pairs() []sitePair {
	names := map[*race.Operation]string{}
	name := func(op *race.Operation) string {
		if names[op] == "" {
			names[op] = siteName(op.Site)
		}
		return names[op]
	}
	var all []sitePair
	r.detector.Pairs(func(p race.Pair) { all = append(all, sitePair{name(p.First), name(p.Second)}) })
	return all
}

func siteName(site race.Site) string {
	if s, ok := site.(exec.Site); ok {
		in := s.Instruction()
		return fmt.Sprintf("%s:%d", in.Module, in.Line)
	}
	return fmt.Sprint(site)
}

// addPairs counts pairs of instructions, and those that were seen in both orders.
func (m *merge) addPairs(pairs []sitePair) {
	for _, p := range pairs {
		if m.pairs[p] {
			continue
		}
		m.pairs[p] = true
		switch back := (sitePair{p.second, p.first}); {
		case p.first == p.second:
			m.Pairs++
			m.BothOrders++
		case m.pairs[back]:
			m.BothOrders++
		default:
			m.Pairs++
		}
	}
}
