package finding

import (
	"fmt"
	"strings"
	"testing"

	"gpurun/cudart/sim/check/race"
)

// Warps that wait at one line for words of one buffer are one line of the text, behind the reason.
func TestDeadlockTextHasGroups(t *testing.T) {
	f := Finding{Kind: Deadlock, Where: "rank 1's mailboxes at +0x8000", Advice: "write the word"}
	f.Cause = "nobody who still runs writes the word"
	host := Access{Actor: Actor{Rank: 1, Command: "host code"}}
	f.Waits = append(f.Waits, Wait{Access: host, For: "the stream", On: []int{1, 2}})
	for block := range 4 {
		for word := range 8 {
			f.Waits = append(f.Waits, Wait{
				Access: Access{
					Actor: Actor{Rank: 1, Kernel: "k", Block: block, Warp: word / 2}, Kind: race.Read, Module: "k.ptx",
					Source: "sum.cuh:21", Text: "ld.relaxed.sys %r1, [%rd1]",
				},
				For: fmt.Sprintf("rank 1's mailboxes at +%#x", 0x8000+32*block+4*word), Value: "0x80000000",
				Test: "value == 0x80000000",
			})
		}
	}
	const want = `DEADLOCK  rank 1's mailboxes at +0x8000
  nobody who still runs writes the word
  write the word
  rank 1: 16 warps of blocks 0-3 wait at sum.cuh:21, ld.relaxed.sys, for 32 words, the first one ` +
		`rank 1's mailboxes at +0x8000, which is 0x80000000 (tested: value == 0x80000000)
    nobody who still runs can end this wait
  rank 1's host code waits: the stream
    could be ended by rank 1 block 0 warp 0
`
	if got := f.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for i := range f.Waits { // each a group of its own
		f.Waits[i].Source = fmt.Sprint("k.cu:", i)
	}
	if lines := strings.Count(f.String(), "\n"); lines > 12 {
		t.Errorf("%d lines:\n%v", lines, f)
	}
}
