package rounds

// Effect is something that the state machine's caller has to do.
type Effect interface {
	effect()
}

// Assemble tells a node its place in a round that begins as soon as all of its
// nodes have confirmed that they reach the master.
type Assemble struct {
	To    NodeID
	Round Round
}

// Begin tells a node that its round begins.
type Begin struct {
	To    NodeID
	Round int
}

// Standby tells a node that the group is full: it waits as a spare.
type Standby struct {
	To NodeID
}

// Stop tells a node to stop its workers and to join again.
type Stop struct {
	To     NodeID
	Round  int
	Reason string
	Counts bool // as one of the job's restarts
}

// Gathered is what all nodes of the round contributed, by group rank. All
// nodes share Data; they must not write to it.
type Gathered struct {
	To    NodeID
	Round int
	Name  string
	Data  [][]byte
}

// GatherFailed tells a node that has contributed that others have not.
type GatherFailed struct {
	To     NodeID
	Round  int
	Name   string
	Reason string
}

// Told is a message of another node of the round, or of the node itself. All nodes share Data.
type Told struct {
	To    NodeID
	Round int
	From  int // group rank
	Name  string
	Data  []byte
}

// Dismiss ends a node's part in the job.
type Dismiss struct {
	To  NodeID
	End *End
}

func (Assemble) effect()     {}
func (Begin) effect()        {}
func (Standby) effect()      {}
func (Stop) effect()         {}
func (Gathered) effect()     {}
func (GatherFailed) effect() {}
func (Told) effect()         {}
func (Dismiss) effect()      {}
