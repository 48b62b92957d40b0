package check

import "testing"

// A finding names both accesses with their lines, the place in memory, and what to do.
func TestTextOfAFinding(t *testing.T) {
	r := runStory(t, story(map[string]string{
		"STORE": "st.release.gpu.global.u32", "LOAD": "ld.acquire.sys.global.u32",
		"SENDER_BARRIER": blockBarrier, "RECEIVER_BARRIER": blockBarrier,
	}), 32, 1)
	const want = `RACE  read after write, 4 bytes of rank 1's data at +0x0
  rank 1 block 0 warp 0 reads   ld.global.u32   story.cu:22   (PTX 37)
  rank 0 block 0 warp 0 wrote   st.global.u32   story.cu:10   (PTX 20)
  the flag between them: rank 0 st.release.gpu.global.u32 :12, rank 1 ld.acquire.sys.global.u32 :20
  .gpu does not reach another GPU: use st.release.sys
`
	for _, f := range r.Findings {
		if f.Flag != nil {
			if got := f.String(); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
			return
		}
	}
	t.Errorf("no finding names its flag: %v", r.Findings)
}

// A finding about one access has its kind, the place, the line, the cause, and what to do.
func TestTextOfAnAccessOutOfBounds(t *testing.T) {
	found := accessAt(t, "@%last st.global.u32 [%at], 1;", 200, 200)
	const want = `OUT OF BOUNDS  memory 0 bytes behind the end of rank 0's fresh (lane 5, address 0x1200000000c8)
  rank 0 block 0 warp 1   st.global.u32   access.cu:10   (PTX 17)
  behind the end of a buffer
  compare the index with the size of the buffer before the access
`
	if got := found[0].String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
