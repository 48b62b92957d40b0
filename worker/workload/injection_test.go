package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseInjection(t *testing.T) {
	for text, want := range map[string]Injection{
		"corrupt:rank=1,byte=4097": {Kind: Corrupt, Rank: 1, Byte: 4097},
		"corrupt:byte=0,rank=0":    {Kind: Corrupt, Rank: 0, Byte: 0},
		"kill:rank=2":              {Kind: Kill, Rank: 2, Byte: -1},
		"hang:rank=3":              {Kind: Hang, Rank: 3, Byte: -1},
	} {
		got, err := ParseInjection(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	for _, text := range []string{
		"", "corrupt", "corrupt:", "corrupt:rank=1", "corrupt:byte=1", "explode:rank=1", "kill:rank=-1",
		"kill:rank=x", "kill:rank=1,byte=2", "hang:rank=99999999999", "kill:rank=1,", "kill:rank", "hang:rank=1,rank=2",
		"corrupt:rank=1,byte=2,byte=3",
	} {
		if got, err := ParseInjection(text); err == nil {
			t.Errorf("%q became %+v", text, got)
		}
	}
}

// A corruption that no output is long enough for is refused: of reduce, only the root has one.
func TestInjectionThatMeetsNothing(t *testing.T) {
	for want, in := range map[string]Injection{
		"cannot corrupt byte 4 of rank 1, whose longest output has 0 bytes, from 0 on": {Kind: Corrupt, Rank: 1, Byte: 4},
		"cannot corrupt byte 256 of rank 0, whose longest output has 256 bytes, from 0 on": {
			Kind: Corrupt, Rank: 0, Byte: 256,
		},
		"": {Kind: Corrupt, Rank: 0, Byte: 255},
	} {
		job := Job{
			Collective: "reduce", Algorithms: []string{Auto}, DTypes: []string{"float"}, Ops: []string{"sum"},
			Sizes:  []int64{64, 256},
			Verify: true, Inject: []Injection{in},
		}
		got := ""
		if err := job.Check(2); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func FuzzParseInjection(f *testing.F) {
	for _, text := range []string{
		"corrupt:rank=1,byte=4097", "kill:rank=2", "hang:rank=3", "hang:rank==,", "corrupt:byte=1", "kill:", ":",
		"kill:rank=-1", "corrupt:rank=1,byte=9223372036854775808", "hang:rank=1,rank=2", "kill:rank=1,byte=2",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, err := ParseInjection(text)
		if err == nil && (in.Rank < 0 || (in.Kind == Corrupt) != (in.Byte >= 0)) {
			t.Errorf("%q became %+v", text, in)
		}
	})
}
