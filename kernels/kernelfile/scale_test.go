package kernelfile

import "testing"

// Grids scale where each is a multiple of the number of multiprocessors, and is not bounded by anything else.
func TestGridsScale(t *testing.T) {
	for text, want := range map[string]bool{
		"sms": true, "2 * sms": true, "sms*4": true, " sms ": true, "min(sms, 64)": false, "sms + 1": false, "16": false,
		"ceil_div(count, 128)": false, "sms * world": false,
	} {
		f := &File{Steps: []Step{{Launch: &Launch{Grid: []Expr{{Text: text}}}}}}
		if got := f.GridsScale(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	f := &File{Steps: []Step{
		{Launch: &Launch{Grid: []Expr{{Text: "3"}, {Text: "sms"}}}}, {Launch: &Launch{Grid: []Expr{{Text: "3"}}}},
	}}
	if f.GridsScale() {
		t.Error("one of two launches has a grid of its own")
	}
}
