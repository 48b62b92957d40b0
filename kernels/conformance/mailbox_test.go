package conformance

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gpurun/kernels/collective"
)

// Who waits for the result of a rank that itself waits for one that does not come is more patient than that: of all
// ranks the one that misses who is missing says so first.
func TestWaitsForResultsExpireLater(t *testing.T) {
	const (
		missing, reducer = 0, 2 // who reduces the only vector
		timeout          = time.Second
	)
	twoshot := calls(3, func(a *collective.Algorithm) bool { return a.Name == "twoshot_lamport" })[0]
	twoshot.count = 4
	var gaveUp [3]time.Time
	group{world: 3, timeout: timeout}.run(t, func(m *member) error {
		defer m.meet() // memory stays until all are done
		if m.rank == missing {
			return nil
		}
		if err := twoshot.enqueue(m); err != nil {
			return err
		}
		var expired *collective.TimeoutError
		if err := m.synchronize(); !errors.As(err, &expired) {
			return fmt.Errorf("want a TimeoutError, got %w", err)
		}
		gaveUp[m.rank] = time.Now()
		if m.rank == reducer && expired.Peer != missing {
			return fmt.Errorf("the wrong wait is named: %w", expired)
		}
		return nil
	})
	if earlier := gaveUp[1].Sub(gaveUp[reducer]); earlier < timeout/4 {
		t.Errorf("rank 1 gave up %v after the rank that it waited for", earlier)
	}
}

// A rank that comes when the others have given up waiting for it either misses them, or has the right result: nothing
// that they have sent rests on a wait that expired.
func TestLateRankIsNotToldWhatIsWrong(t *testing.T) {
	const late = 1
	for _, c := range calls(2, nil) {
		t.Run(c.algorithm.Collective+" "+c.algorithm.Name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			c.count = 500
			group{world: 2, timeout: 300 * time.Millisecond}.run(t, func(m *member) error {
				defer m.meet() // memory stays until all are done
				if err := c.fill(m); err != nil {
					return err
				}
				m.meet()
				if m.rank != late {
					defer m.meet()
				} else {
					m.meet()
				}
				if err := c.enqueue(m); err != nil {
					return err
				}
				var expired *collective.TimeoutError
				if err := m.synchronize(); err == nil {
					_, err := c.check(m)
					return err
				} else if !errors.As(err, &expired) {
					return err
				}
				return nil
			})
		})
	}
}
