package race

import (
	"slices"
	"testing"
)

// What current GPUs order beyond PTX, and what they do not.
func TestHardwareStories(t *testing.T) {
	for name, c := range map[string]struct {
		story string
		want  []string
	}{
		"a read, a barrier, a relaxed flag, and a write behind its poll": {`
			0.0 reads x
			0.0 0.0b bar
			0.0b relaxed.sys f
			1.0 polls.sys f
			1.0 writes x`, []string{"1-5 nothing orders them, but hardware"}},
		"and the write may be another warp's, behind a barrier": {`
			0.0 reads x
			0.0 0.0b bar
			0.0b relaxed.sys f
			1.0 polls.sys f
			1.0 1.0b bar
			1.0b writes x`, []string{"1-6 nothing orders them, but hardware"}},
		"through a third thread": {`
			0.0 reads x
			0.0 0.0b bar
			0.0 relaxed.sys f
			1.0 polls.sys f
			1.0 relaxed.sys g
			2.0 polls.sys g
			2.0 writes x`, []string{"1-7 nothing orders them, but hardware"}},
		"a third thread that has polled later carries nothing on": {`
			0.0 reads x
			0.0 0.0b bar
			0.0 relaxed.sys f
			1.0 relaxed.sys g
			1.0 release.sys h
			1.0 polls.sys f
			2.0 polls.sys g
			2.0 writes x`, []string{"1-8 nothing orders them"}},
		"without the barrier the read may still be under way": {`
			0.0 reads x
			0.0 relaxed.sys f
			1.0 polls.sys f
			1.0 writes x`, []string{"1-4 nothing orders them"}},
		"a read behind the barrier, too": {`
			0.0 0.0b bar
			0.0 reads x
			0.0 relaxed.sys f
			1.0 polls.sys f
			1.0 writes x`, []string{"2-5 nothing orders them"}},
		"the other warp has not arrived when it reads": {`
			0.0b 0.0c bar
			0.0 reads x
			0.0b relaxed.sys f
			1.0 polls.sys f
			1.0 writes x`, []string{"2-5 nothing orders them"}},
		"without the poll nothing is ordered": {`
			0.0 reads x
			0.0 0.0b bar
			0.0b relaxed.sys f
			1.0 writes x`, []string{"1-4 nothing orders them"}},
		"a write behind a write is not ordered": {`
			0.0 writes x
			0.0 0.0b bar
			0.0b relaxed.sys f
			1.0 polls.sys f
			1.0 writes x`, []string{"1-5 nothing orders them"}},
		"and neither is a read": {`
			0.0 writes x
			0.0 0.0b bar
			0.0b relaxed.sys f
			1.0 polls.sys f
			1.0 reads x`, []string{"1-5 nothing orders them"}},
		"a scope that does not reach orders nothing": {
			`
			0.0 reads x
			0.0 0.0b bar
			0.0b relaxed.gpu f
			1.0 polls.sys f
			1.0 writes x`,
			[]string{"3-4 a scope is too narrow", "1-5 nothing orders them"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := races(c.story); !slices.Equal(got, c.want) {
				t.Errorf("races %q, want %q", got, c.want)
			}
		})
	}
}
