package kernelfile

import (
	"regexp"
	"slices"
)

// multipleOfSMs is an expression such as "sms" or "2 * sms": the quotient of grid and sms is the same on any device.
var multipleOfSMs = regexp.MustCompile(`^\s*(?:[0-9]+\s*\*\s*)?sms(?:\s*\*\s*[0-9]+)?\s*$`)

// GridsScale reports whether every launch has so many blocks for each multiprocessor, whatever their number is.
func (f *File) GridsScale() bool {
	for _, l := range f.Launches() {
		if !slices.ContainsFunc(l.Grid, func(x Expr) bool { return multipleOfSMs.MatchString(x.Text) }) {
			return false
		}
	}
	return true
}
