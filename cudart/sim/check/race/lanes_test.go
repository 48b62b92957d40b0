package race

import (
	"slices"
	"testing"
)

const lanes = " lanes of a warp are not ordered"

// Which lanes of a warp are ordered, and what their releases and acquires are for.
func TestLaneStories(t *testing.T) {
	for name, c := range map[string]struct {
		story string
		want  []string
	}{
		"a lane reads what another one writes": {`
			0.0:3 writes x
			0.0:4 reads x`, []string{"1-2" + lanes}},
		"and the other way round": {`
			0.0:3 reads x
			0.0:4 writes x`, []string{"1-2" + lanes}},
		"a lane by itself is in order": {`
			0.0:3 writes x
			0.0:3 reads x
			0.0:3 writes x`, nil},
		"strong accesses do not race": {`
			0.0:3 relaxed.cta x
			0.0:4 polls.cta x
			0.0:4 adds.cta x`, nil},
		"lanes that meet are ordered": {`
			0.0:3 writes x
			0.0 meet
			0.0:4 reads x
			0.0:5 meet
			0.0:5 writes x`, []string{"3-5" + lanes}},
		"two lanes that meet are ordered, and a third one is not": {`
			0.0:3 writes x
			0.0:3,4 meet
			0.0:4 reads x
			0.0:5 reads x`, []string{"1-4" + lanes}},
		"they pass on what they know": {`
			0.0:3 writes x
			0.0:3,4 meet
			0.0:4,5 meet
			0.0:5 reads x`, nil},
		"but not what they learn later": {`
			0.0:4,5 meet
			0.0:3 writes x
			0.0:3,4 meet
			0.0:5 reads x`, []string{"2-4" + lanes}},
		"a vote orders by hardware alone": {`
			0.0:3 writes x
			0.0 votes
			0.0:4 reads x`, []string{"1-3" + lanes + ", but hardware"}},
		"a vote of other lanes does not": {`
			0.0:3 writes x
			0.0:4,5 votes
			0.0:4 reads x`, []string{"1-3" + lanes}},
		"the block's barrier orders lanes": {`
			0.0:3 writes x
			0.0 0.0b bar
			0.0:4 reads x`, nil},
		"lanes that write the same place by one instruction write the same": {`
			0.0:3,4 writes x
			0.0:4 reads x
			0.0:5 reads x`, []string{"1-3" + lanes}},
		"lanes that read the same place wait for one that writes": {`
			0.0:3,4 reads x
			0.0:4 writes x`, []string{"1-2" + lanes}},
		"a lane releases what it has done": {`
			0.0:3 writes x
			0.0:4 writes y
			0.0:3 release.sys f
			1.0 acquire.sys f
			1.0 reads x
			1.0 reads y`, []string{"2-6" + lanes}},
		"and what it knows of others": {`
			0.0:4 writes y
			0.0:3,4 meet
			0.0:5 writes x
			0.0:3 release.sys f
			1.0 acquire.sys f
			1.0 reads x
			1.0 reads y`, []string{"3-6" + lanes}},
		"all lanes meet before the release": {`
			0.0:4 writes y
			0.0 meet
			0.0:5 writes x
			0.0:3 release.sys f
			1.0 acquire.sys f
			1.0 reads y
			1.0 reads x`, []string{"3-7" + lanes}},
		"a vote before the release orders by hardware": {`
			0.0:4 writes y
			0.0 votes
			0.0:3 release.sys f
			1.0 acquire.sys f
			1.0 reads y`, []string{"1-5" + lanes + ", but hardware"}},
		"a later release covers the others": {`
			0.0:4 writes y
			0.0:3 release.sys f
			0.0 meet
			0.0:3 release.sys f
			1.0 acquire.sys f
			1.0 reads y`, nil},
		"and who acquires the earlier one does not have them": {`
			0.0:4 writes y
			0.0:3 release.sys f
			1.0 acquire.sys f
			0.0 meet
			0.0:3 release.sys f
			1.0 reads y`, []string{"1-6" + lanes}},
		"a third thread does not have them, either": {`
			0.0:4 writes y
			0.0:3 release.sys f
			1.0 acquire.sys f
			1.0 release.sys g
			2.0 acquire.sys g
			2.0 writes y`, []string{"1-6" + lanes}},
		"of a fence of all lanes, the lane that writes has its own": {`
			0.0:3 writes x
			0.0:4 writes y
			0.0:3,4 fence.sys
			0.0:3 relaxed.sys f
			1.0 acquire.sys f
			1.0 reads x
			1.0 reads y`, []string{"2-7" + lanes}},
		"a fence of another lane is none": {`
			0.0:3 writes x
			0.0:4 fence.sys
			0.0:3 relaxed.sys f
			1.0 acquire.sys f
			1.0 reads x`, []string{"1-5 nothing orders them"}},
		"each lane has its last fence": {`
			0.0:3 writes x
			0.0:3 fence.sys
			0.0:4 fence.sys
			0.0:3 relaxed.sys f
			1.0 acquire.sys f
			1.0 reads x`, nil},
		"a lane acquires for itself": {`
			0.0 writes x
			0.0 release.sys f
			1.0:3 acquire.sys f
			1.0:3 reads x
			1.0:4 reads x`, []string{"1-5" + lanes}},
		"until the lanes meet": {`
			0.0 writes x
			0.0 release.sys f
			1.0:3 acquire.sys f
			1.0:3,4 meet
			1.0:4 reads x
			1.0:5 reads x`, []string{"1-6" + lanes}},
		"all have acquired where all meet": {`
			0.0 writes x
			0.0 release.sys f
			1.0:3 acquire.sys f
			1.0 meet
			1.0:5 reads x`, nil},
		"a vote behind the acquire orders by hardware": {`
			0.0 writes x
			0.0 release.sys f
			1.0:3 acquire.sys f
			1.0 votes
			1.0:5 reads x`, []string{"1-5" + lanes + ", but hardware"}},
		"a fence of the lane that polls": {`
			0.0 writes x
			0.0 release.sys f
			1.0:3 polls.sys f
			1.0:4 fence.sys
			1.0:3 fence.sys
			1.0:3 reads x
			1.0:4 reads x`, []string{"1-7" + lanes}},
		"a fence of another lane acquires nothing": {`
			0.0 writes x
			0.0 release.sys f
			1.0:3 polls.sys f
			1.0:4 fence.sys
			1.0:3 reads x`, []string{"1-5 nothing orders them"}},
		"all lanes learn that a copy has ended": {`
			1.0 copies a x y
			0.0 release.sys f
			1.0:3 acquire.sys f
			1.0 awaits a
			1.0:4 reads y`, nil},
		"two lanes poll, and the second one has a fence": {`
			0.0 writes x
			0.0 release.sys f
			1.0:3 polls.sys f
			1.0:4 polls.sys f
			1.0:4 fence.sys
			1.0:4 reads x`, nil},
		"a relaxed arrival passes on the fences of all lanes": {`
			0.0/1:3 writes x
			0.0/1:4 writes y
			0.0/1:3,4 fence.cluster
			0.0/1~ 0.1/1 bar
			0.1/1 reads x`, nil},
		"what the lanes knew before remains": {`
			0.0 writes x
			0.0 release.sys f
			1.0 acquire.sys f
			2.0 writes y
			2.0 release.sys g
			1.0:3 acquire.sys g
			1.0:4 reads x
			1.0:4 reads y`, []string{"4-8" + lanes}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := races(c.story); !slices.Equal(got, c.want) {
				t.Errorf("races %q, want %q", got, c.want)
			}
		})
	}
}

// The lanes of an access are found by its addresses, whether they are regular or not.
func TestFootprint(t *testing.T) {
	for name, c := range map[string]struct {
		lanes     uint32
		addresses []uint64
		want      map[uint64]uint32
	}{
		"one lane":  {8, []uint64{64}, map[uint64]uint32{60: 0, 63: 0, 64: 8, 67: 8, 68: 0}},
		"neighbors": {0b1110, []uint64{64, 68, 72}, map[uint64]uint32{63: 0, 64: 2, 71: 4, 72: 8, 75: 8, 76: 0}},
		"gaps":      {0b1010, []uint64{64, 80}, map[uint64]uint32{64: 2, 68: 0, 80: 8, 83: 8, 84: 0, 96: 0}},
		"one place": {0b1010, []uint64{64, 64}, map[uint64]uint32{63: 0, 64: 0b1010, 68: 0}},
		"downwards": {0b11, []uint64{64, 60}, map[uint64]uint32{60: 2, 64: 1, 68: 0}},
		"irregular": {0b111, []uint64{64, 80, 64}, map[uint64]uint32{64: 0b101, 80: 2, 72: 0}},
	} {
		f := footprintOf(c.lanes, c.addresses, 4)
		for addr, want := range c.want {
			if got := f.at(addr); got != want {
				t.Errorf("%s: lanes %#b at %d, want %#b", name, got, addr, want)
			}
		}
	}
}
