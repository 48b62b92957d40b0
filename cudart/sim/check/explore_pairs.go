package check

import (
	"fmt"
	"hash/fnv"
	"io"

	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// sitePair is two instructions, or commands, that accessed the same bytes in this order.
type sitePair struct{ first, second string }

// pairs are those of the run, each at least once, in no order, and what tells them apart by their launches.
func (r *run) pairs() ([]sitePair, map[uint64]bool) {
	names := map[*race.Operation]string{}
	name := func(op *race.Operation) string {
		if names[op] == "" {
			names[op] = siteName(op.Site)
		}
		return names[op]
	}
	var all []sitePair
	orders := map[uint64]bool{}
	r.detector.Pairs(func(p race.Pair) {
		pair := sitePair{name(p.First), name(p.Second)}
		all = append(all, pair)
		orders[r.order(p, pair)] = true
	})
	return all, orders
}

// order is the same for the same two instructions of the same launches in the same order, in all schedules.
func (r *run) order(p race.Pair, pair sitePair) uint64 {
	h := fnv.New64a()
	io.WriteString(h, pair.first)
	io.WriteString(h, pair.second)
	d := digest(h.Sum64())
	d.mix(hashOf(r.owners[p.First], 1), hashOf(r.owners[p.Second], 2))
	return uint64(d)
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

// addOrders notes which schedule was the last one to show two instructions of two launches in a new order.
func (m *merge) addOrders(orders map[uint64]bool) {
	for o := range orders { // their order does not matter
		if !m.orders[o] {
			m.orders[o], m.lastOrder = true, m.Schedules
		}
	}
}
