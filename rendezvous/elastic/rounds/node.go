package rounds

import (
	"fmt"
	"time"
)

// Time is the time since an arbitrary start.
type Time = time.Duration

// NodeID names a node's connection. The caller chooses it and never uses one
// twice.
type NodeID uint64

// AnyRank as a node's rank leaves the choice to the state machine.
const AnyRank = -1

// Bounds on what nodes may send.
const (
	MaxNodes       = 1 << 14 // that attend at the same time
	MaxWorkers     = 1 << 12 // of one node
	MaxNameBytes   = 255     // of a node, a role, an address, or a gather
	MaxReasonBytes = 4 << 10
	MaxDataBytes   = 64 << 10 // one node's part of a gather
	MaxGatherBytes = 8 << 20  // of all nodes together; it must fit a message
	MaxGathers     = 16       // open in one round
)

// Terms are what all nodes of a job must agree on.
type Terms struct {
	RunID       string
	Min, Max    int // nodes
	MaxRestarts int
	Static      bool // every node names its rank
}

func (t Terms) String() string {
	kind := "elastic"
	if t.Static {
		kind = "static"
	}
	return fmt.Sprintf("job %q: %s, %d:%d nodes, at most %d restarts", t.RunID, kind, t.Min, t.Max, t.MaxRestarts)
}

// Node is what a node tells about itself when it joins.
type Node struct {
	Terms    Terms
	Name     string // of the host, for messages and for the order of ranks
	Rank     int    // AnyRank, or where the terms are static the group rank
	Workers  int
	Role     string
	Master   string // host:port of a listener that it holds for the workers
	Round    int    // the last one that it has seen, 0 for none
	Restarts int    // as of that round
}

// Round is what a node learns when a round is complete.
type Round struct {
	Number   int // counts from 1
	Restarts int // of the job so far, by failures

	GroupRank int
	Nodes     int
	FirstRank int // of the node's workers; the others follow
	WorldSize int

	FirstRoleRank int
	RoleWorldSize int

	Master string // host:port, of group rank 0
}

type status int

const (
	waiting   status = iota // has joined
	assembled               // belongs to a round that has yet to begin
	confirmed               // has reached the master
	running
	stopping // was told to stop, and has yet to join again
	finished
)

// node is a node as the state machine knows it.
type node struct {
	id        NodeID
	about     Node
	status    status
	groupOf   int  // the number of the last round that it belonged to
	rank      int  // in that round
	spare     bool // was told so
	heartbeat Time // deadline of the next one, after which the node is lost
	deadline  Time // of what it is waiting for; 0: none
}

func (n *node) String() string {
	if n.groupOf == 0 || n.status == waiting {
		return n.about.Name
	}
	return fmt.Sprintf("node %d (%s)", n.rank, n.about.Name)
}

// attends says whether the node's part in its round is not over.
func (n *node) attends() bool {
	return n.status == assembled || n.status == confirmed || n.status == running
}
