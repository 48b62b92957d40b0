package race

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A barrier of the block is said to be missing only where the block meets none between the access and the flag, and the
// flag's own warp has that instruction on the same side of the flag.
func TestDiagnoses(t *testing.T) {
	for name, c := range map[string]struct {
		story string
		want  []string
	}{
		"the block does not meet before its flag": {
			`
			0.0b writes x
			0.0 release.sys f
			1.0 acquire.sys f
			1.0 reads x`,
			[]string{"1-4 a barrier before 2-3"},
		},
		"and the write is late": {
			`
			0.0 release.sys f
			1.0 acquire.sys f
			1.0 reads x
			0.0b writes x`,
			[]string{"3-4 a barrier before 1-2, late"},
		},
		"the block does not meet behind the flag that it reads": {
			`
			0.0 writes x
			0.0 release.sys f
			1.0 acquire.sys f
			1.0b reads x`,
			[]string{"1-4 a barrier behind 2-3"},
		},
		"the block meets between its flag and the write": {
			`
			0.0 release.sys f
			0.0 0.0b bar
			0.0b writes x
			1.0 acquire.sys f
			1.0 reads x`,
			[]string{"3-5 a later flag than none or 1-4"},
		},
		"and the write is the second access": {
			`
			0.0 release.sys f
			1.0 acquire.sys f
			1.0 reads x
			0.0 0.0b bar
			0.0b writes x`,
			[]string{"3-5 a later flag than 1-2 or none"},
		},
		"a slot is overwritten one credit too early": {
			`
			1.0 release.sys c
			0.0 acquire.sys c
			0.0 release.sys f
			1.0 acquire.sys f
			1.0 1.0b bar
			1.0b reads x
			0.0 0.0b bar
			0.0b writes x`,
			[]string{"6-8 a later flag than 3-4 or 1-2"},
		},
		"the block does not meet before its credit, but behind the flag that it reads": {
			`
			0.0 writes x
			0.0 release.sys f
			1.0 acquire.sys f
			1.0 1.0b bar
			1.0 reads x
			1.0 release.sys c
			0.0 acquire.sys c
			0.0 writes x as 1
			0.0 release.sys f as 2
			1.0 acquire.sys f as 3
			1.0b reads x as 5`,
			[]string{"1-5 a barrier before 6-7, late"},
		},
		"the block meets before its flag, and a warp is in front of the others in the next step": {
			`
			0.0 writes y
			0.0b writes x as 1
			0.0 0.0b bar
			0.0b writes x as 1
			0.0 release.sys f
			1.0 acquire.sys f
			1.0 reads x`,
			[]string{"1-7 nothing"},
		},
		"other lanes of the flag's warp are in the next step, too": {
			`
			0.0:0 writes y
			0.0b writes x as 1
			0.0 0.0b bar
			0.0:1 writes z as 1
			0.0b writes x as 1
			0.0:0 release.sys f
			1.0 acquire.sys f
			1.0 reads x`,
			[]string{"1-8 nothing"},
		},
		"a race is seen again when there are flags": {
			`
			0.0 writes x
			1.0 reads x
			1.0 release.sys c
			0.0 acquire.sys c
			0.0 writes x as 1
			1.0 reads x as 2`,
			[]string{"1-2 a later flag than 3-4 or none"},
		},
		"a block of another number has signaled": {
			`
			0.1 release.sys f
			1.1 acquire.sys f
			1.0 reads x
			0.0 writes x`,
			[]string{"3-4 nothing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := diagnoses(c.story); !slices.Equal(got, c.want) {
				t.Errorf("diagnoses %q, want %q", got, c.want)
			}
		})
	}
}

// diagnoses tells a story and returns what its races miss, by the numbers of the steps.
func diagnoses(story string) []string {
	s := &teller{d: New(), threads: map[string]*Thread{}, copies: map[string]*Copy{}}
	s.d.Diagnose()
	for i, step := range strings.Split(strings.TrimSpace(story), "\n") {
		s.tell(i+1, step)
	}
	var all []string
	for _, f := range s.d.Findings() {
		d := f.Diagnosis
		text := fmt.Sprintf("%v-%v ", f.First.Op.Site, f.Second.Op.Site)
		switch d.Missing {
		case BarrierBefore:
			text += "a barrier before " + numbers(&d.Edge)
		case BarrierBehind:
			text += "a barrier behind " + numbers(&d.Edge)
		case LaterFlag:
			text += "a later flag than " + numbers(d.Waits[0]) + " or " + numbers(d.Waits[1])
		case StrongerFlag:
			text += "a stronger flag than " + numbers(&d.Edge)
		default:
			text += "nothing"
		}
		if d.Late {
			text += ", late"
		}
		all = append(all, text)
	}
	return all
}

// numbers are the steps of an edge.
func numbers(e *Edge) string {
	if e == nil {
		return "none"
	}
	return fmt.Sprintf("%v-%v", e.Release.Op.Site, e.Acquire.Op.Site)
}
