package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart/sim/check/race"
)

const warpBarrier = "bar.warp.sync 0xffffffff;"

// A warp passes a message: its lanes meet before one of them releases, and behind the acquire by one.
func TestLanesPassAMessage(t *testing.T) {
	right := map[string]string{
		"STORE": "st.release.sys.global.u32", "LOAD": "ld.acquire.sys.global.u32",
		"SENDER_BARRIER": warpBarrier, "RECEIVER_BARRIER": warpBarrier,
	}
	relaxed := with(right, map[string]string{
		"STORE": "st.relaxed.sys.global.u32", "LOAD": "ld.relaxed.sys.global.u32",
		"SENDER_FENCE": "fence.acq_rel.sys;", "RECEIVER_FENCE": "fence.acq_rel.sys;",
	})
	for name, c := range map[string]struct {
		words, change map[string]string
		want, advice  string
	}{
		"release and acquire": {right, nil, "", ""},
		"no barrier before the release": {
			right,
			map[string]string{"SENDER_BARRIER": ""},
			"10-22 lanes",
			"lane 1 of the first warp is not ordered before the release by its lane 0",
		},
		"no barrier behind the acquire": {
			right,
			map[string]string{"RECEIVER_BARRIER": ""},
			"10-22 unordered, 10-22 lanes",
			"lane 1 of the second warp is not ordered behind the acquire by its lane 0",
		},
		"fences": {relaxed, nil, "", ""},
		"no barrier before the fence": {
			relaxed,
			map[string]string{"SENDER_BARRIER": ""},
			"10-22 lanes",
			"lane 1 of the first warp is not ordered before the release by its lane 0",
		},
		"no barrier behind the fence": {
			relaxed,
			map[string]string{"RECEIVER_BARRIER": ""},
			"10-22 unordered, 10-22 lanes",
			"lane 1 of the second warp is not ordered behind the acquire by its lane 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			words := with(c.words, c.change)
			expectStory(t, words, 32, c.want)
			for _, f := range runStory(t, story(words), 32, 1).Findings {
				if f.Cause == race.UnorderedLanes.String() && !strings.HasPrefix(f.Advice, c.advice+": add bar.warp.sync") {
					t.Errorf("advice %q, want that %s", f.Advice, c.advice)
				}
			}
		})
	}
}

// Lanes of a warp exchange words of shared memory: what orders them by PTX, and what by hardware alone.
func TestLanesExchangeWords(t *testing.T) {
	for name, c := range map[string]struct {
		between string
		want    []string
		model   Model
	}{
		"nothing":                {"", []string{"1-3 lanes of a warp are not ordered"}, ModelHardware},
		"a barrier":              {warpBarrier, nil, ModelPTX},
		"a barrier of the block": {"bar.sync 0;", nil, ModelPTX},
		"barriers of pairs": {
			"shl.b32 %b, 3, %even; bar.warp.sync %b;", nil, ModelPTX,
		},
		"barriers of halves": {
			"setp.lt.u32 p, %tid, 16; @p bar.warp.sync 0xffff; @!p bar.warp.sync 0xffff0000;", nil, ModelPTX,
		},
		"barriers of single lanes": {
			"shl.b32 %b, 1, %tid; bar.warp.sync %b;", []string{"1-3 lanes of a warp are not ordered"}, ModelHardware,
		},
		"a vote, on hardware": {"vote.sync.any.pred p, p, 0xffffffff;", nil, ModelHardware},
		"a vote, by PTX": {
			"vote.sync.any.pred p, p, 0xffffffff;", []string{"note: 1-3 lanes of a warp are not ordered"}, ModelPTX,
		},
		"a shuffle, by PTX": {
			"shfl.sync.bfly.b32 %b, %b, 1, 31, 0xffffffff;",
			[]string{"note: 1-3 lanes of a warp are not ordered"},
			ModelPTX,
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(lanesKernel, "BETWEEN", c.between, 1)
			k, err := New(Config{Ranks: 2, Model: c.model})
			if err != nil {
				t.Fatal(err)
			}
			r, err := k.Run(1, func(r *Rank) error { return passMessage(r, text, 32) })
			if err != nil || len(r.Incomplete) > 0 {
				t.Fatalf("error %v, incomplete %v", err, r.Incomplete)
			}
			var got []string
			for _, f := range r.Findings {
				note := ""
				if f.Note {
					note = "note: "
				}
				got = append(got, fmt.Sprintf("%s%s-%s %s", note, line(f.Sides[0]), line(f.Sides[1]), f.Cause))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// lanesKernel is a warp whose lanes read what their neighbors have written.
const lanesKernel = `
.version 8.0
.target sm_80
.address_size 64
.file 1 "lanes.cu"
.visible .entry story(.param .u64 data, .param .u64 flag, .param .u32 rank)
{
	.reg .b32 %tid, %at, %a, %b, %even;
	.reg .pred p;
	.shared .align 4 .b8 words[128];
	mov.u32 %tid, %tid.x;
	and.b32 %even, %tid, 30;
	mov.u32 %at, words;
	mad.lo.u32 %at, %tid, 4, %at;
	.loc 1 1 0
	st.shared.u32 [%at], %tid;
	.loc 1 2 0
	BETWEEN
	xor.b32 %at, %tid, 1;
	mov.u32 %a, words;
	mad.lo.u32 %at, %at, 4, %a;
	.loc 1 3 0
	ld.shared.u32 %a, [%at];
	ret;
}
`
