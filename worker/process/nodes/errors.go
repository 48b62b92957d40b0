package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gpurun/rendezvous"
)

// explainJoin adds to a join's error what the user can do.
func (n *Nodes) explainJoin(err error) error {
	var late *rendezvous.Straggler
	switch at := n.config.address(); {
	case err == nil:
		return nil
	case errors.Is(err, rendezvous.ErrToken):
		return fmt.Errorf("node 0 at %s has another token: give all nodes the same: %w", at, err)
	case errors.Is(err, rendezvous.ErrDuplicateRank):
		return fmt.Errorf("--node-rank %d is taken: give each node its own: %w", n.config.Rank, err)
	case errors.Is(err, rendezvous.ErrWorldSize):
		return &Disagreement{fmt.Sprintf("--nnodes is not the same on all nodes: %v", err)}
	case errors.Is(err, rendezvous.ErrClosed):
		return fmt.Errorf("the job at %s runs already, or has just ended: %w", at, err)
	case errors.As(err, &late):
		return fmt.Errorf("of %d nodes, %d did not reach %s within %v%s%s",
			late.WorldSize, late.Absent, at, n.config.JoinTimeout, missing(late.Missing), n.refused())
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("node %d found no node 0 at %s within %v; check that it runs with this --master-addr and "+
			"--master-port, and that no firewall blocks the port: %w",
			n.config.Rank, at, n.config.JoinTimeout, err)
	}
	return fmt.Errorf("meeting the other nodes: %w", err)
}

// refused ends a sentence with whom this node has refused, if it is node 0 and has refused any.
func (n *Nodes) refused() string {
	if n.meeting == nil {
		return ""
	}
	return n.meeting.Refused()
}

// missing lists the nodes that did not join.
func missing(nodes []int) string {
	if len(nodes) == 0 {
		return ""
	}
	return " (--node-rank " + strings.Trim(fmt.Sprint(nodes), "[]") + ")"
}

// Lost returns, once Context has ended, the failure of another node, as *[Failed], or an
// error that names the node that is lost.
func (n *Nodes) Lost() error { return context.Cause(n.ctx) }

// explainLoss names the node that an error of the group is about.
func (n *Nodes) explainLoss(err error) error {
	var left *rendezvous.PeerLeft
	var late *rendezvous.Straggler
	switch names := n.names(); {
	case errors.As(err, &left) && left.Rank >= 0 && left.Rank < len(names):
		return fmt.Errorf("%s departed: %s", names[left.Rank], left.Reason)
	case errors.As(err, &late) && len(late.Missing) > 0:
		return fmt.Errorf("%s did not answer: %w", names[late.Missing[0]], err)
	case errors.Is(err, rendezvous.ErrServerGone) && n.config.Rank != 0:
		return fmt.Errorf("%s is gone: %w", names[0], err)
	}
	return err
}

// names are the nodes' names in messages: "node 1 (its host)".
func (n *Nodes) names() []string {
	names := make([]string, n.config.Count)
	for i, m := range slices.All(n.group.Members()) {
		names[i] = fmt.Sprintf("node %d (%s)", i, m.Host)
	}
	return names
}
