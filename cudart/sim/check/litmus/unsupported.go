package litmus

import "fmt"

// Unsupported is the error of a test that is well formed and that this package does not model.
type Unsupported struct {
	Line int
	What string
}

func (u *Unsupported) Error() string {
	return fmt.Sprintf("line %d: %s is not modeled", u.Line, u.What)
}
