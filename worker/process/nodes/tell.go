package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// failureKey is where the first node that fails leaves its [End] in the nodes'
// store.
const failureKey = "failure"

// tellTimeout bounds how long a node tries to tell the others of its failure.
const tellTimeout = 5 * time.Second

// Failed says that another node has failed, and is still ending its ranks.
type Failed struct{ Verdict }

func (e *Failed) Error() string { return e.Name + ": " + e.What }

// Tell lets the other nodes know at once that this one's ranks have failed: to end
// them may take long, and until then nobody calls Conclude. It does not wait, and of
// all nodes' failures the first counts.
func (n *Nodes) Tell(mine End) {
	mine.After = mine.At.Sub(n.begun)
	n.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(n.group.Context(), tellTimeout)
		defer cancel()
		text, err := json.Marshal(toldEnd{n.config.Rank, mine})
		if err == nil {
			_, _, err = n.group.Store().CompareAndSet(ctx, failureKey, nil, text)
		}
		if err != nil { // they hear of it in the end
			n.config.Logger.Debug("telling the other nodes of a failure", zap.Error(err))
		}
	})
}

// toldEnd is what stands under failureKey.
type toldEnd struct {
	Node int `json:"node"`
	End
}

// listen ends the Nodes' context when another node tells of a failure, or is gone.
func (n *Nodes) listen() {
	group := n.group.Context()
	told, err := n.awaitFailure(group)
	if err == nil && told.Node != n.config.Rank {
		n.end(told)
		return
	}
	<-group.Done()
	n.config.Logger.Debug("nobody told of a failure", zap.Error(err))
	n.end(n.explainLoss(context.Cause(group)))
}

// awaitFailure returns the first failure that a node tells of.
func (n *Nodes) awaitFailure(ctx context.Context) (*Failed, error) {
	err := context.DeadlineExceeded // of one call: a job may run for long
	for errors.Is(err, context.DeadlineExceeded) {
		err = n.group.Store().Wait(ctx, failureKey)
	}
	if err != nil {
		return nil, err
	}
	text, err := n.group.Store().Get(ctx, failureKey)
	if err != nil {
		return nil, err
	}
	var told toldEnd
	if err := json.Unmarshal(text, &told); err != nil {
		return nil, fmt.Errorf("reading which node has failed: %w", err)
	}
	names := n.names()
	if told.Node < 0 || told.Node >= len(names) {
		return nil, fmt.Errorf("reading which node has failed: there is no node %d", told.Node)
	}
	return &Failed{Verdict{End: told.End, Node: told.Node, Name: names[told.Node]}}, nil
}
