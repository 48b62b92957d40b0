package result

import "testing"

func TestFurtherReads(t *testing.T) {
	for want, f := range map[string]Further{
		"verified 12,412 more calls in 2.0 minutes": {12412, 2.04}, "verified 1 more call in 0.0 minutes": {1, 0.001},
		"verified 999 more calls in 60.0 minutes": {999, 60}, "verified 1,000,000 more calls in 0.5 minutes": {1e6, 0.5},
	} {
		if got := f.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
