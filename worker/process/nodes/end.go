package nodes

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

// End is how a node's ranks ended.
type End struct {
	Code int       `json:"code"` // the exit code that it would have alone
	What string    `json:"what"` // in words
	At   time.Time `json:"-"`    // of the failure; zero is now
	// Consequence says that the failure follows from one elsewhere.
	Consequence bool `json:"consequence,omitempty"`
	// After is At, from when the job began: the nodes' clocks differ.
	After time.Duration `json:"after"`
}

// Verdict is how the whole job ended: as it did on one node.
type Verdict struct {
	End
	Node int
	Name string // such as "node 1 (its host)"
}

// failedWait bounds the wait of a node that has failed for the others' word, and
// toldWait that of one that knows of another's failure: all it waits for is that
// everybody has heard of it.
const (
	failedWait = 10 * time.Second
	toldWait   = 2 * time.Second
)

// Conclude tells the other nodes how this one's ranks ended, and returns the
// verdict, which is the same on all nodes: the first failure that no other
// explains, or node 0's success. All nodes call it, once. The nodes must have ended
// their ranks: with the verdict, node 0 stops serving them.
//
// An error says that another node is gone without a word, or does not answer. If
// this node has failed by itself, or was told of a failure, that is the verdict all
// the same.
func (n *Nodes) Conclude(ctx context.Context, mine End) (Verdict, error) {
	if mine.At.IsZero() {
		mine.At = time.Now()
	}
	mine.After = mine.At.Sub(n.begun)
	var told *Failed
	wait := n.config.Timeout
	switch {
	case errors.As(n.Lost(), &told):
		wait = toldWait
	case mine.Code != 0:
		wait = failedWait
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	ends, err := gather(waiting, n.group, "ends", mine)
	if err == nil {
		n.part(ctx)
		return judge(ends, n.names()), nil
	}
	err = n.explainLoss(err)
	switch {
	case told != nil || errors.As(n.Lost(), &told):
		n.fail(ctx, told)
		return told.Verdict, nil
	case mine.Code != 0 && !mine.Consequence:
		n.fail(ctx, errors.New(mine.What))
		n.config.Logger.Debug("concluding without the other nodes", zap.Error(err))
		return Verdict{End: mine, Node: n.config.Rank, Name: n.names()[n.config.Rank]}, nil
	}
	n.fail(ctx, err)
	return Verdict{}, err
}

// fail tells nodes that are still there why this one leaves.
func (n *Nodes) fail(ctx context.Context, reason error) {
	if err := n.group.Fail(ctx, reason); err != nil {
		n.config.Logger.Debug("telling the other nodes of a failure", zap.Error(err))
	}
}

// judge finds the end that counts.
func judge(ends []End, names []string) Verdict {
	worst := 0
	for node, e := range ends {
		if e.explains(ends[worst]) {
			worst = node
		}
	}
	return Verdict{End: ends[worst], Node: worst, Name: names[worst]}
}

// explains reports whether e rather than other is why a job failed.
func (e End) explains(other End) bool {
	switch {
	case e.Code == 0 || other.Code == 0:
		return e.Code != 0
	case e.Consequence != other.Consequence:
		return other.Consequence
	}
	return e.After < other.After
}
