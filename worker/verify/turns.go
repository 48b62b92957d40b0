package verify

import "fmt"

// TurnError reports that a call changed a copy of an output whose turn it was not.
type TurnError struct {
	Output     string
	Copy, Turn int // the copy that has changed, and the one of the call
}

func (e *TurnError) Error() string {
	return fmt.Sprintf("a call wrote outside its buffers: it changed copy %d of the output %s, and the address that it "+
		"got is of copy %d; copies are numbered from 0, and rotate in the kernel file makes them", e.Copy, e.Output, e.Turn)
}
