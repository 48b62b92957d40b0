package schedule

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is written is read again, as text and compressed.
func TestSchedulesAreReadAgain(t *testing.T) {
	few := Turns{{Actor{Rank: 1}, Forever}, {Actor{0, 1, 2, 3, 4}, 40}, {Actor{Rank: 2, Stream: 1}, 1}}
	for _, turns := range []Turns{nil, few, slices.Repeat(few, 200)} {
		want := Schedule{Format: Format, Ranks: 3, SMs: 8, Strategy: "late", Seed: 1 << 63, Trace: 1<<64 - 1, Turns: turns}
		text, err := json.Marshal(&want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Error(diff)
		}
		if packs := strings.Contains(string(text), packed); packs != (len(turns) > mostReadable) {
			t.Errorf("%d turns: compressed %t", len(turns), packs)
		}
	}
}

// What is no schedule is refused with a reason.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"format": 1, "ranks": 1, "sms": 1}`:                             "has format 1",
		`{"format": 2}`:                                                   "no file of gpurun check",
		`{"format": 2, "ranks": 1, "sms": 1, "other": 1}`:                 "unknown field",
		`{"format": 2, "ranks": 1, "sms": 1, "turns": "0*0"}`:             "no number of instructions",
		`{"format": 2, "ranks": 1, "sms": 1, "turns": "0.1.2"}`:           "no host, stream or warp",
		`{"format": 2, "ranks": 1, "sms": 1, "turns": "deflate:?"}`:       "decoding the turns",
		`{"format": 2, "ranks": 1, "sms": 1, "turns": "deflate:AAAAAAA"}`: "turns",
	} {
		if s, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, error %v", text, s, err)
		}
	}
}

// Two turns of a hundred are needed, and one of them without its end. Shrink finds both, and no third.
func TestShrinkFindsWhatIsNeeded(t *testing.T) {
	turns := make(Turns, 100)
	for i := range turns {
		turns[i] = Turn{Actor{Rank: i}, 7}
	}
	runs := 0
	shows := func(turns Turns) bool {
		runs++
		first := slices.Index(turns, Turn{Actor{Rank: 20}, 7})
		second := slices.IndexFunc(turns, func(turn Turn) bool { return turn.Actor.Rank == 61 })
		return 0 <= first && first < second
	}
	want := Turns{{Actor{Rank: 20}, 7}, {Actor{Rank: 61}, Forever}}
	if got := Shrink(turns, shows, func() bool { return false }); !slices.Equal(got, want) || runs > 60 {
		t.Errorf("%v after %d runs, want %v", got, runs, want)
	}
	if got := Shrink(turns, shows, func() bool { return true }); !slices.Equal(got, turns) {
		t.Errorf("without a run: %v", got)
	}
}
