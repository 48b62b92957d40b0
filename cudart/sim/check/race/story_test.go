package race

import (
	"slices"
	"testing"
)

// What races and what does not, told as stories in the language of teller.
func TestStories(t *testing.T) {
	for name, c := range map[string]struct {
		story string
		want  []string
	}{
		"two blocks of a GPU need its scope alone": {`
			0.0 writes x
			0.0 release.gpu f
			0.1 acquire.gpu f
			0.1 reads x`, nil},
		"and the scope of a block is too narrow for two blocks": {
			`
			0.0 writes x
			0.0 release.cta f
			0.1 acquire.gpu f
			0.1 reads x`,
			[]string{"2-3 a scope is too narrow", "1-4 a scope is too narrow by 2-3"},
		},
		"but not for two warps of a block": {`
			0.0 writes x
			0.0 release.cta f
			0.0b acquire.cta f
			0.0b reads x`, nil},
		"a third thread learns from the second what the first has written": {`
			0.0 writes x
			0.0 release.sys f
			1.0 acquire.sys f
			1.0 release.sys g
			2.0 acquire.sys g
			2.0 reads x`, nil},
		"an order at GPU scope is carried on to another GPU": {`
			0.0 writes x
			0.0 release.gpu f
			0.1 acquire.gpu f
			0.1 release.sys g
			1.0 acquire.sys g
			1.0 reads x`, nil},
		"a barrier passes on what one warp has acquired": {`
			0.0 writes x
			0.0 release.sys f
			1.0 acquire.sys f
			1.0 1.0b bar
			1.0b reads x`, nil},
		"and without the barrier the other warp has acquired nothing": {`
			0.0 writes x
			0.0 release.sys f
			1.0 acquire.sys f
			1.0b reads x`, []string{"1-4 nothing orders them"}},
		"what is written behind the release is not released": {`
			0.0 release.sys f
			0.0 writes x
			1.0 acquire.sys f
			1.0 reads x`, []string{"2-4 nothing orders them"}},
		"an acquire of another flag orders nothing": {`
			0.0 writes x
			0.0 release.sys f
			1.0 acquire.sys g
			1.0 reads x`, []string{"1-4 nothing orders them"}},
		"fences make patterns of relaxed accesses": {`
			0.0 writes x
			0.0 fence.sys
			0.0 relaxed.sys f
			1.0 polls.sys f
			1.0 fence.sys
			1.0 reads x`, nil},
		"a fence in front of the data releases nothing of it": {`
			0.0 fence.sys
			0.0 writes x
			0.0 relaxed.sys f
			1.0 acquire.sys f
			1.0 reads x`, []string{"2-5 nothing orders them"}},
		"a fence of the system in front of a write for a GPU": {
			`
			0.0 writes x
			0.0 fence.sys
			0.0 relaxed.gpu f
			1.0 acquire.sys f
			1.0 reads x`,
			[]string{"3-4 a scope is too narrow", "1-5 a scope is too narrow by 2-4"},
		},
		"what is written behind an arrival is not passed on": {`
			0.0+ 0.0b bar
			0.0 writes x
			0.0b reads x`, []string{"2-3 nothing orders them"}},
		"a barrier tells a scope that is too narrow from no order": {
			`
			0.0 writes x
			0.0 release.gpu f
			1.0 acquire.sys f
			1.0b writes y
			1.0b 1.0 bar
			1.0b reads x
			1.0 reads y`,
			[]string{"2-3 a scope is too narrow", "1-6 a scope is too narrow by 2-3"},
		},
		"a flag that is too narrow carries what a barrier has collected": {
			`
			0.0 writes x
			0.0 0.0b bar
			0.0b release.gpu f
			1.0 acquire.sys f
			1.0 reads x`,
			[]string{"3-4 a scope is too narrow", "1-5 a scope is too narrow by 3-4"},
		},
		"and so does a second one": {
			`
			0.0 release.gpu f
			1.0 acquire.sys f
			1.0b writes y
			1.0 1.0b bar
			1.0 release.gpu g
			2.0 acquire.sys g
			2.0 reads y`,
			[]string{
				"1-2 a scope is too narrow", "5-6 a scope is too narrow", "3-7 a scope is too narrow by 5-6",
			},
		},
		"a later flag that is wide enough carries the narrow one on": {
			`
			0.0 writes x
			0.0 release.gpu f
			1.0 acquire.sys f
			1.0 release.sys g
			2.0 acquire.sys g
			2.0 reads x`,
			[]string{"2-3 a scope is too narrow", "1-6 a scope is too narrow by 2-3"},
		},
		"another flag that is wide enough does not hide the narrow one": {
			`
			0.0 writes x
			0.0 release.gpu f
			1.0 acquire.sys f
			2.0 writes y
			2.0 release.sys g
			1.0 acquire.sys g
			1.0 reads x
			1.0 reads y`,
			[]string{"2-3 a scope is too narrow", "1-7 a scope is too narrow by 2-3"},
		},
		"what only arrives learns nothing": {`
			0.0b writes x
			0.0+ 0.0b bar
			0.0 reads x`, []string{"1-3 nothing orders them"}},
		"a fence of a GPU in front of a write for the system": {
			`
			0.0 writes x
			0.0 fence.gpu
			0.0 relaxed.sys f
			1.0 acquire.sys f
			1.0 reads x`,
			[]string{"1-5 a scope is too narrow by 2-4"},
		},
		"the last block to take a ticket sees what all have written": {`
			0.0 writes x
			0.0 adds.acq_rel.gpu c
			0.1 writes y
			0.1 adds.acq_rel.gpu c
			0.1 reads x`, nil},
		"a relaxed ticket passes on what it does not acquire": {
			`
			0.0 writes x
			0.0 adds.acq_rel.gpu c
			0.1 adds.gpu c
			0.2 adds.acq_rel.gpu c
			0.2 reads x
			0.1 reads x`,
			[]string{"1-6 nothing orders them"},
		},
		"a reduction and a fence acquire nothing": {`
			0.0 writes x
			0.0 release.gpu c
			0.1 reduces.gpu c
			0.1 fence.gpu
			0.1 reads x`, []string{"1-5 nothing orders them"}},
		"as an atomic operation and a fence do": {`
			0.0 writes x
			0.0 release.gpu c
			0.1 adds.gpu c
			0.1 fence.gpu
			0.1 reads x`, nil},
		"a reduction passes on what was released": {`
			0.0 writes x
			0.0 release.gpu c
			0.1 reduces.gpu c
			0.2 acquire.gpu c
			0.2 reads x`, nil},
		"a plain store breaks the chain of tickets": {`
			0.0 writes x
			0.0 adds.acq_rel.gpu c
			0.1 relaxed.gpu c
			0.2 adds.acq_rel.gpu c
			0.2 reads x`, []string{"1-5 nothing orders them"}},
		"a later store of the same thread releases, too": {`
			0.0 writes x
			0.0 release.sys f
			0.0 relaxed.sys f
			1.0 acquire.sys f
			1.0 reads x`, nil},
		"a read that is not over when the memory is written again": {`
			0.0 reads x
			1.0 writes x`, []string{"1-2 nothing orders them"}},
		"a write happens before what is behind a read that has observed it": {`
			0.0 relaxed.sys f
			1.0 polls.sys f
			1.0 reads f
			1.0 writes f`, nil},
		"by way of further messages as well": {`
			0.0 relaxed.sys f
			1.0 polls.sys f
			1.0 release.sys g
			2.0 acquire.sys g
			2.0 reads f`, nil},
		"but not what is in front of the write": {`
			0.0 writes x
			0.0 relaxed.sys f
			1.0 polls.sys f
			1.0 reads x`, []string{"1-4 nothing orders them"}},
		"nor before what is in front of the read": {`
			0.0 relaxed.sys f
			1.0 release.sys g
			1.0 polls.sys f
			2.0 acquire.sys g
			2.0 reads f`, []string{"1-5 nothing orders them"}},
		"nor where a scope is too narrow": {`
			0.0 relaxed.gpu f
			1.0 polls.sys f
			1.0 reads f`, []string{"1-2 a scope is too narrow", "1-3 nothing orders them"}},
		"a strong write does not hide the weak read in front of it": {`
			1.0 reads f
			1.0 relaxed.sys f
			0.0 relaxed.sys f`, []string{"1-3 nothing orders them"}},
		"nor a weak write": {
			`
			1.0 writes f
			1.0 relaxed.sys f
			0.0 polls.sys f
			0.0 relaxed.sys f`,
			[]string{"1-3 nothing orders them", "1-4 nothing orders them"},
		},
		"which a release passes on": {`
			1.0 writes f
			1.0 release.sys f
			0.0 acquire.sys f
			0.0 relaxed.sys f`, nil},
		"two readers": {`
			0.0 reads x
			1.0 reads x`, nil},
		"strong accesses to the same bytes do not race": {`
			0.0 relaxed.sys f
			1.0 relaxed.sys f
			1.0 polls.sys f`, nil},
		"strong accesses that overlap in part do": {`
			0.0 wide.sys f
			1.0 polls.sys f`, []string{"1-2 they overlap in part"}},
		"a weak poll races": {`
			0.0 release.sys f
			1.0 reads f`, []string{"1-2 nothing orders them"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := races(c.story); !slices.Equal(got, c.want) {
				t.Errorf("races %q, want %q", got, c.want)
			}
		})
	}
}
