package nodes

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A node that has failed is heard before it concludes, and whatever becomes of it.
func TestFailureIsToldAtOnce(t *testing.T) {
	all := newJob(t, 3).meetAll(t)
	died := End{Code: 5, What: "rank 3 died", At: time.Now()}
	all[1].Announce(func() End { return died })
	for _, n := range []*Nodes{all[0], all[2]} {
		<-n.Context().Done()
		var failed *Failed
		if err := n.Lost(); !errors.As(err, &failed) || failed.Node != 1 || failed.Code != 5 ||
			!strings.HasPrefix(err.Error(), "node 1 (") || !strings.HasSuffix(err.Error(), "): rank 3 died") {
			t.Errorf("node %d lost %v", n.Rank(), err)
		}
	}
	select {
	case <-all[1].Context().Done():
		t.Errorf("its own failure ends it: %v", all[1].Lost())
	default:
	}
	closeAll(t, all[1])
	follows := End{Code: 6, What: "a peer left", Consequence: true}
	for _, n := range []*Nodes{all[2], all[0]} {
		v, err := n.Conclude(t.Context(), follows)
		if err != nil || v.Node != 1 || v.Code != 5 || v.What != died.What {
			t.Errorf("node %d: %+v, %v", n.Rank(), v, err)
		}
	}
	closeAll(t, all[2], all[0])
}

// Of two nodes that fail, all name the same, also when they conclude.
func TestFirstFailureToldCounts(t *testing.T) {
	all := newJob(t, 2).meetAll(t)
	defer closeAll(t, all...)
	early, late := End{Code: 5, What: "early", At: time.Now()}, End{Code: 4, What: "late", At: time.Now().Add(time.Second)}
	all[0].Announce(func() End { return early })
	<-all[1].Context().Done()
	all[1].Announce(func() End { return late })
	verdicts, errs := conclude(t, all, early, late)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for node, v := range verdicts {
		if v.Node != 0 || v.Code != 5 {
			t.Errorf("node %d: %+v", node, v)
		}
	}
}
