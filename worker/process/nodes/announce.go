package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.uber.org/zap"
)

// failureKey is the key, in the nodes' store, of the [End] of the first node that fails.
const failureKey = "failure"

// announceTimeout bounds the announcement of a failure.
const announceTimeout = 5 * time.Second

// Failed says that another node has failed. It may still be ending its ranks.
type Failed struct{ Verdict }

func (e *Failed) Error() string { return e.Name + ": " + e.What }

// Announce tells the other nodes at once that this node's ranks have failed. Ending the
// ranks may take long, and Conclude comes only after that. Announce does not wait: it asks for
// the failure in a goroutine of its own. Of all nodes' failures the first counts.
func (n *Nodes) Announce(failure func() End) {
	n.tasks.Go(func() {
		mine := failure()
		mine.After = mine.At.Sub(n.begun)
		ctx, cancel := context.WithTimeout(n.group.Context(), announceTimeout)
		defer cancel()
		text, err := json.Marshal(announcement{n.config.Rank, mine})
		if err == nil {
			_, _, err = n.group.Store().CompareAndSet(ctx, failureKey, nil, text)
		}
		if err != nil { // Conclude tells them
			n.config.Logger.Debug("telling the other nodes of a failure", zap.Error(err))
		}
	})
}

// announcement is the value of failureKey.
type announcement struct {
	Node int `json:"node"`
	End
}

// listen ends the Nodes' context when another node announces a failure, or is lost.
func (n *Nodes) listen() {
	group := n.group.Context()
	failed, err := n.awaitFailure(group)
	if err == nil && failed.Node != n.config.Rank {
		n.end(failed)
		return
	}
	<-group.Done()
	n.config.Logger.Debug("no node announced a failure", zap.Error(err))
	n.end(n.explainLoss(context.Cause(group)))
}

// awaitFailure returns the first failure that a node announces.
func (n *Nodes) awaitFailure(ctx context.Context) (*Failed, error) {
	text, err := n.await(ctx, failureKey)
	if err != nil {
		return nil, err
	}
	var told announcement
	if err := json.Unmarshal(text, &told); err != nil {
		return nil, fmt.Errorf("reading which node has failed: %w", err)
	}
	names := n.names()
	if told.Node < 0 || told.Node >= len(names) {
		return nil, fmt.Errorf("reading which node has failed: there is no node %d", told.Node)
	}
	return &Failed{Verdict{End: told.End, Node: told.Node, Name: names[told.Node]}}, nil
}
