package membership

// Effect is something that the state machine's caller has to do.
type Effect interface {
	effect()
}

// Welcome tells a member its rank: the group is complete.
type Welcome struct {
	To   SessionID
	Rank int
}

// Dismiss ends a member's session. Err is nil when the member wanted it so,
// or is no longer there to be told.
type Dismiss struct {
	To  SessionID
	Err error
}

// Deliver answers an exchange call. Data is by rank for an all-gather, one
// element for a broadcast, nil for a barrier. All calls of an exchange share
// it, and must not write to it.
type Deliver struct {
	Call CallID
	Data [][]byte
}

// Fail answers an exchange call with an error.
type Fail struct {
	Call CallID
	Err  error
}

func (Welcome) effect() {}
func (Dismiss) effect() {}
func (Deliver) effect() {}
func (Fail) effect()    {}
