package membership

import "fmt"

// AnyRank as a joining member's rank leaves the choice to the state machine.
const AnyRank = -1

// Bounds on what members may send.
const (
	MaxWorldSize   = 4096
	MaxHostBytes   = 255
	MaxDeviceBytes = 64 << 10
	MaxReasonBytes = 4 << 10
)

// Member is what a member tells about itself when it joins, and what everyone
// learns about it when the group is complete.
type Member struct {
	Rank      int // AnyRank while joining: to be assigned
	LocalRank int // rank among the members of one host
	WorldSize int // 0 while joining: whatever the state machine's is
	Host      string
	PID       int
	Device    []byte // opaque
}

func (m Member) String() string { return fmt.Sprintf("%s (pid %d)", m.Host, m.PID) }
