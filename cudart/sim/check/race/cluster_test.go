package race

import (
	"slices"
	"testing"
)

// Clusters, and the life of memory, told as stories in the language of teller.
func TestStoriesOfClusters(t *testing.T) {
	for name, c := range map[string]struct {
		story string
		want  []string
	}{
		"the scope of a cluster reaches its blocks": {`
			0.0/0 writes x
			0.0/0 release.cluster f
			0.1/0 acquire.cluster f
			0.1/0 reads x`, nil},
		"and not those of another cluster": {
			`
			0.0/0 writes x
			0.0/0 release.cluster f
			0.2/1 acquire.gpu f
			0.2/1 reads x`,
			[]string{"2-3 a scope is too narrow", "1-4 a scope is too narrow by 2-3"},
		},
		"a fence of the cluster is no fence of the GPU": {
			`
			0.0/0 writes x
			0.0/0 fence.cluster
			0.0/0 relaxed.gpu f
			0.2/1 acquire.gpu f
			0.2/1 reads x`,
			[]string{"1-5 a scope is too narrow by 2-4"},
		},
		"a relaxed arrival releases nothing": {`
			0.0/0 writes x
			0.0/0~ 0.1/0 bar
			0.1/0 reads x`, []string{"1-3 nothing orders them"}},
		"but what a fence has released": {`
			0.0/0 writes x
			0.0/0 fence.cluster
			0.0/0~ 0.1/0 bar
			0.1/0 reads x`, nil},
		"and not what comes behind the fence": {`
			0.0/0 fence.cluster
			0.0/0 writes x
			0.0/0~ 0.1/0 bar
			0.1/0 reads x`, []string{"2-4 nothing orders them"}},
		"a fence of the block does not reach the cluster": {`
			0.0/0 writes x
			0.0/0 fence.cta
			0.0/0~ 0.1/0 bar
			0.1/0 reads x`, []string{"1-4 nothing orders them"}},
		"a relaxed arrival passes on scopes that were too narrow": {
			`
			1.0/0 writes x
			1.0/0 release.gpu f
			0.0/0 acquire.sys f
			0.0/0 fence.cluster
			0.0/0~ 0.1/0 bar
			0.1/0 reads x`,
			[]string{"2-3 a scope is too narrow", "1-6 a scope is too narrow by 2-4"},
		},
		"an access has to know that the memory has begun": {
			`
			0.0 begins
			0.0 0.1 bar
			0.1 writes x
			0.2 writes y`,
			[]string{"1-4 nothing orders them"},
		},
		"the end of memory comes behind all accesses": {
			`
			0.0 writes x
			0.1 reads y
			0.0 0.1 bar
			0.2 reads z
			0.0 ends`,
			[]string{"4-5 nothing orders them"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := races(c.story); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
