package workload

import (
	"testing"

	"pgregory.net/rapid"
)

// A place to land for each peer, of which there may be many, takes no more than a few
// times the memory of a copy.
func TestPlacesToLand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes, peers := rapid.Int64Range(1, 1<<30).Draw(t, "bytes"), rapid.IntRange(1, 71).Draw(t, "peers")
		share, l := ConcurrentCopyBytes(bytes, peers), Layout{Total: 512}.withCopies(bytes, peers)
		room := l.Total - l.CopyTo
		if share < 1 || share > bytes || room < bytes || room < int64(peers)*RoundUp(share) {
			t.Errorf("%d bytes to each, and room for %d", share, room)
		}
		if most := maxReceivedCopies*bytes + int64(peers)*alignment*2; room > most {
			t.Errorf("room for %d, want at most %d", room, most)
		}
		if l.CopyFrom < 512 || l.CopyTo < l.CopyFrom+bytes {
			t.Errorf("%+v", l)
		}
	})
}
