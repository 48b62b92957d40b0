package nodes

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

// End is how a node's ranks ended.
type End struct {
	Code int       `json:"code"` // the node's own exit code, without regard to other nodes
	What string    `json:"what"` // in words
	At   time.Time `json:"-"`    // of the failure; zero is now
	// Consequence says that the failure follows from another node's.
	Consequence bool `json:"consequence,omitempty"`
	// After is the time from the job's begin to At: the nodes' clocks differ.
	After time.Duration `json:"after"`
}

// Verdict is how the whole job ended: the end of the node that decides.
type Verdict struct {
	End
	Node int
	Name string // such as "node 1 (its host)"
}

// failedWait bounds the wait of a node that has failed for the ends of the others.
// announcedWait bounds the wait of a node that knows of another's failure: it waits only
// until all nodes know.
const (
	failedWait    = 10 * time.Second
	announcedWait = 2 * time.Second
)

// Conclude exchanges with the other nodes how their ranks ended, and returns the
// verdict, which is the same on all nodes: the first failure that does not follow from
// another, or node 0's success. All nodes call it, once, after their ranks have ended:
// node 0 then stops serving the ranks.
//
// An error says that another node is lost, or does not answer. If this node has failed
// by itself, or another node has announced a failure, that failure is the verdict, and
// there is no error.
func (n *Nodes) Conclude(ctx context.Context, mine End) (Verdict, error) {
	if mine.At.IsZero() {
		mine.At = time.Now()
	}
	mine.After = mine.At.Sub(n.begun)
	var announced *Failed
	wait := n.config.Timeout
	switch {
	case errors.As(n.Lost(), &announced):
		wait = announcedWait
	case mine.Code != 0:
		wait = failedWait
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ends, err := gather(waiting, n.group, "ends", mine)
	if err == nil {
		n.leave(ctx)
		return judge(ends, n.names()), nil
	}
	err = n.explainLoss(err)
	switch {
	case announced != nil || errors.As(n.Lost(), &announced):
		n.fail(ctx, announced)
		return announced.Verdict, nil
	case mine.Code != 0 && !mine.Consequence:
		n.fail(ctx, errors.New(mine.What))
		n.config.Logger.Debug("concluding without the other nodes", zap.Error(err))
		return Verdict{End: mine, Node: n.config.Rank, Name: n.names()[n.config.Rank]}, nil
	}
	n.fail(ctx, err)
	return Verdict{}, err
}

// fail tells the remaining nodes why this one leaves.
func (n *Nodes) fail(ctx context.Context, reason error) {
	if err := n.group.Fail(ctx, reason); err != nil {
		n.config.Logger.Debug("telling the other nodes of a failure", zap.Error(err))
	}
}

// judge finds the end that decides.
func judge(ends []End, names []string) Verdict {
	worst := 0
	for node, e := range ends {
		if e.explains(ends[worst]) {
			worst = node
		}
	}
	return Verdict{End: ends[worst], Node: worst, Name: names[worst]}
}

// explains reports whether e rather than other is the cause of a job's failure.
func (e End) explains(other End) bool {
	switch {
	case e.Code == 0 || other.Code == 0:
		return e.Code != 0
	case e.Consequence != other.Consequence:
		return other.Consequence
	}
	return e.After < other.After
}
