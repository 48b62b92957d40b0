package nodes

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Of two orders with the same number the first counts, all nodes hear it once, and the answers reach any node.
func TestOrdersAndAnswers(t *testing.T) {
	all := newJob(t, 3).meetAll(t)
	defer closeAll(t, all...)
	heard := make([]chan Order, len(all))
	for node, n := range all {
		heard[node] = make(chan Order, 4)
		n.Orders(func(o Order) { heard[node] <- o })
	}
	first := Order{Number: 1, Node: 1, Reason: "first"}
	for node, n := range []*Nodes{all[1], all[2]} {
		if got, err := n.Order(t.Context(), Order{Number: 1, Reason: []string{"first", "second"}[node]}); err != nil ||
			got != first {
			t.Errorf("order of node %d: %+v, %v", node+1, got, err)
		}
	}
	last := Order{Number: 2, Node: 0, Reason: "it hangs", Hang: true}
	if got, err := all[0].Order(t.Context(), Order{Number: 2, Reason: "it hangs", Hang: true}); err != nil || got != last {
		t.Errorf("the next: %+v, %v", got, err)
	}
	for node := range all {
		if diff := cmp.Diff([]Order{first, last}, []Order{<-heard[node], <-heard[node]}); diff != "" {
			t.Errorf("node %d: %s", node, diff)
		}
	}
	if err := all[2].Answer(t.Context(), 1, []byte("two")); err != nil {
		t.Fatal(err)
	}
	late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got, missing := all[1].Answers(late, 1); len(missing) != 1 || missing[0] != all[1].names()[0] ||
		string(got[2]) != "two" {
		t.Errorf("without node 0: %v, missing %q", got, missing)
	}
	if err := all[0].Answer(t.Context(), 1, []byte("zero")); err != nil {
		t.Fatal(err)
	}
	got, missing := all[1].Answers(t.Context(), 1)
	if diff := cmp.Diff(map[int][]byte{0: []byte("zero"), 2: []byte("two")}, got); diff != "" || missing != nil {
		t.Errorf("missing %q: %s", missing, diff)
	}
	if err := all[1].Finish(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	all[2].Finished(t.Context(), 1)
}

// The last node whose ranks become silent or end learns that the job hangs, and no other does. A job whose ranks have
// all ended does not hang.
func TestSilenceOfAllNodes(t *testing.T) {
	type step struct {
		node int
		mine Silence
		hang bool
	}
	for _, steps := range [][]step{
		{{0, Silent, false}, {0, Running, false}, {1, Silent, false}, {0, Silent, true}, {1, Silent, false}},
		{{0, Silent, false}, {1, Ended, true}},
		{{0, Ended, false}, {1, Silent, true}},
		{{0, Ended, false}, {1, Ended, false}},
	} {
		all := newJob(t, 2).meetAll(t)
		for _, s := range steps {
			if hang, err := all[s.node].SetSilence(t.Context(), s.mine); err != nil || hang != s.hang {
				t.Errorf("%v: %v: %t, %v", steps, s, hang, err)
			}
		}
		closeAll(t, all...)
	}
}
