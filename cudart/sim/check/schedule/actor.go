package schedule

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Actor names what a scheduler chooses: host code, a stream, or a warp. The same work has the same name in all
// schedules.
type Actor struct {
	Rank   int
	Stream int // of the rank, from 1; 0: the host code
	Launch int // of the stream, from 1; 0: the stream itself
	Block  int
	Warp   int
}

// String is such as "0" for the host code of rank 0, "0.1" for its first stream, and "0.1.2.3.4" for warp 4 of block 3
// of the second kernel there.
func (id Actor) String() string {
	switch {
	case id.Stream == 0:
		return strconv.Itoa(id.Rank)
	case id.Launch == 0:
		return fmt.Sprintf("%d.%d", id.Rank, id.Stream)
	}
	return fmt.Sprintf("%d.%d.%d.%d.%d", id.Rank, id.Stream, id.Launch, id.Block, id.Warp)
}

// parseActor reads what String has written.
func parseActor(text string) (id Actor, err error) {
	parts := strings.Split(text, ".")
	fields := []*int{&id.Rank, &id.Stream, &id.Launch, &id.Block, &id.Warp}
	if n := len(parts); n != 1 && n != 2 && n != len(fields) {
		return id, fmt.Errorf("%q names no host, stream or warp; it has 1, 2 or 5 numbers", text)
	}
	for i, part := range parts {
		if *fields[i], err = strconv.Atoi(part); err != nil {
			return id, fmt.Errorf("%q names no host, stream or warp: %w", text, err)
		}
	}
	return id, nil
}

// Compare orders actors by rank, stream, launch, block and warp.
func (id Actor) Compare(other Actor) int {
	return cmp.Or(cmp.Compare(id.Rank, other.Rank), cmp.Compare(id.Stream, other.Stream),
		cmp.Compare(id.Launch, other.Launch), cmp.Compare(id.Block, other.Block), cmp.Compare(id.Warp, other.Warp))
}
