package check

import (
	"strings"
	"testing"
)

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

// A finding names the line of inlined code, and of the calls that it was inlined by.
func TestTextOfInlinedCode(t *testing.T) {
	text := story(map[string]string{"STORE": "st.relaxed.sys.global.u32", "LOAD": "ld.relaxed.sys.global.u32"})
	const inlined = ".loc 1 22 0, function_name $L, inlined_at 1 77 5"
	text = strings.Replace(text, ".loc 1 22 0", ".loc 1 77 0, function_name $L, inlined_at 1 99 3\n\t"+inlined, 1)
	if !strings.Contains(text, inlined) {
		t.Fatalf("the story has no line 22:\n%s", text)
	}
	for _, f := range runStory(t, text, 32, 1).Findings {
		for _, s := range f.Sides {
			if s.Source != "story.cu:22" {
				continue
			}
			const want = "story.cu:77, inlined at story.cu:99"
			if s.InlinedAt != want || s.Place() != s.Source || !strings.Contains(f.String(), "story.cu:22, inlined at "+want) {
				t.Errorf("inlined at %q, place %s:\n%v", s.InlinedAt, s.Place(), f)
			}
			return
		}
	}
	t.Error("no side is at line 22")
}
