package torchrun

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Signals are signals that are handled.
type Signals []syscall.Signal

// parseSignals reads a list of names. Others than these six cannot be passed on
// sensibly: they have a meaning of their own for a launcher, or cannot be caught.
func parseSignals(text string) (Signals, error) {
	valid := []syscall.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	}
	var signals Signals
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		signal := unix.SignalNum(name)
		if !slices.Contains(valid, signal) {
			return nil, fmt.Errorf("unknown signal %q (valid: SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2)", name)
		}
		if !slices.Contains(signals, signal) {
			signals = append(signals, signal)
		}
	}
	return signals, nil
}

// Streams says for every local rank which of its streams are meant.
type Streams struct {
	all    int         // bits: 1 stdout, 2 stderr
	byRank map[int]int // if set, ranks that are not in it have none
}

// Of returns the streams of a local rank.
func (s Streams) Of(localRank int) (stdout, stderr bool) {
	bits := s.all
	if s.byRank != nil {
		bits = s.byRank[localRank]
	}
	return bits&1 != 0, bits&2 != 0
}

// Any reports whether any stream is meant at all.
func (s Streams) Any() bool {
	for _, bits := range s.byRank {
		if bits != 0 {
			return true
		}
	}
	return s.all != 0
}

// Beyond returns a local rank that is named and that a machine with so many workers lacks, or -1.
func (s Streams) Beyond(workers int) int { return beyond(slices.Sorted(maps.Keys(s.byRank)), workers) }

// beyond returns a rank that is not below workers, or -1.
func beyond(ranks []int, workers int) int {
	if i := slices.IndexFunc(ranks, func(rank int) bool { return rank >= workers }); i >= 0 {
		return ranks[i]
	}
	return -1
}

// parseStreams reads "3", or by local rank "0:1,1:3".
func parseStreams(text string) (Streams, error) {
	if bits, ok := streamBits(text); ok {
		return Streams{all: bits}, nil
	}
	s := Streams{byRank: map[int]int{}}
	for pair := range strings.SplitSeq(text, ",") {
		left, right, _ := strings.Cut(pair, ":")
		rank, err := parseCount(left)
		bits, ok := streamBits(right)
		if err != nil || !ok {
			return Streams{}, fmt.Errorf("%q is neither a number from 0 to 3 nor a list as 0:3,1:2 of them by local rank", text)
		}
		s.byRank[rank] = bits
	}
	return s, nil
}

func streamBits(text string) (bits int, ok bool) {
	if len(text) != 1 || text[0] < '0' || text[0] > '3' {
		return 0, false
	}
	return int(text[0] - '0'), true
}

// Ranks is a set of local ranks. Without any it is all of them.
type Ranks []int

// Has reports whether a local rank is in the set.
func (r Ranks) Has(localRank int) bool { return len(r) == 0 || slices.Contains(r, localRank) }

// Beyond returns a local rank of the set that a machine with so many workers lacks, or -1.
func (r Ranks) Beyond(workers int) int { return beyond(r, workers) }

// parseRanks reads "0,2".
func parseRanks(text string) (Ranks, error) {
	var ranks Ranks
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		rank, err := parseCount(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		ranks = append(ranks, rank)
	}
	return ranks, nil
}

// parseFilters splits at single commas; two are one comma of a text.
func parseFilters(text string) ([]string, error) {
	var filters []string
	const comma = "\x00"
	for filter := range strings.SplitSeq(strings.ReplaceAll(text, ",,", comma), ",") {
		if filter != "" {
			filters = append(filters, strings.ReplaceAll(filter, comma, ","))
		}
	}
	return filters, nil
}
