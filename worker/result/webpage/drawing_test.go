package webpage

import (
	"slices"
	"testing"
)

// An axis has round numbers, and its unit at the end.
func TestAxis(t *testing.T) {
	for _, c := range []struct {
		begin, end float64
		want       []string
	}{
		{0, 17310, []string{"0", "5000", "10000", "15000", "us"}},
		{0.3, 2.1, []string{"0.5", "1.0", "1.5", "us"}},
		{0, 0.04, []string{"0.00", "0.01", "0.02", "0.03", "us"}},
		{0, 100, []string{"0", "20", "40", "60", "80", "us"}},
		{7, 7, []string{"7.000000000", "us"}},
	} {
		d := Timeline("", "us", []Lane{{Name: "lane", Slices: []Slice{{Begin: c.begin, End: c.end}}}})
		var got []string
		for _, label := range d.Labels[1:] {
			got = append(got, label.Text)
			if label.X < laneLabel || label.X > laneLabel+laneWidth {
				t.Errorf("%s at %d", label.Text, label.X)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("from %v to %v: %q, want %q", c.begin, c.end, got, c.want)
		}
	}
}

// The ranks of a trace share an axis and colors: of two that take 1 and 2 us, one has half the other's width.
func TestRanksShareAnAxis(t *testing.T) {
	d, err := Trace([]byte(`{"traceEvents": [
		{"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "rank 0"}},
		{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "rank 1"}},
		{"ph": "X", "pid": 0, "ts": 0, "dur": 1, "name": "step"},
		{"ph": "X", "pid": 1, "ts": 0, "dur": 0, "name": "another"}, {"ph": "X", "pid": 1, "ts": 0, "dur": 2, "name": "step"}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{laneWidth / 2, laneWidth} {
		boxes := d.Sections[i].Drawings[0].Boxes
		if got := boxes[len(boxes)-1]; got.Width != want || got.Class != "k1" {
			t.Errorf("rank %d: width %v, color %s, want %v, k1", i, got.Width, got.Class, want)
		}
	}
}
