package check

import "testing"

// A finding names both accesses with their lines, the place in memory, and what to do.
func TestTextOfAFinding(t *testing.T) {
	r := runStory(t, story(map[string]string{
		"STORE": "st.release.gpu.global.u32", "LOAD": "ld.acquire.sys.global.u32",
		"SENDER_BARRIER": blockBarrier, "RECEIVER_BARRIER": blockBarrier,
	}), 32, 1)
	const want = `RACE  read after write, 4 bytes of rank 1's data at +0x0
  first   rank 0 block 0 warp 0 writes   st.global.u32 [%data], 42   story.cu:10 (story.ptx:20)
  then    rank 1 block 0 warp 0 reads   ld.global.u32 %seen, [%data]   story.cu:22 (story.ptx:37)
  the flag between them:
  release rank 0 block 0 warp 0 writes   @%first st.release.gpu.global.u32 [%flag], 1   story.cu:12 (story.ptx:24)
  acquire rank 1 block 0 warp 0 reads   ld.acquire.sys.global.u32 %seen, [%flag]   story.cu:20 (story.ptx:30)
  a scope is too narrow
  .gpu does not reach another GPU: use .sys
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
