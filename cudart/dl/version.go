package dl

import (
	"cmp"
	"fmt"
)

// Version is the version of a library as its maker counts.
type Version struct {
	Major, Minor, Patch int
}

// String reads "2.28.9".
func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch)) < 0
}
