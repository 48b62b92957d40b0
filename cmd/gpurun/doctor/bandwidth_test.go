package doctor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/worker/result"
)

// linked is a diagnosis of so many GPUs whose links do what rate says, alone and
// with all busy.
func linked(gpus int, rate func(from, to int) float64) Diagnosis {
	var d Diagnosis
	for from := range gpus {
		d.Ranks = append(d.Ranks, cudart.Info{Backend: "cuda"})
		for to := range gpus {
			if from != to {
				d.Pairs = append(d.Pairs, result.Pair{From: from, To: to, CopyGBs: rate(from, to), LoadedGBs: 100})
			}
		}
	}
	return d
}

func TestSlowness(t *testing.T) {
	slowIf := func(rate float64, is func(from, to int) bool) func(from, to int) float64 {
		return func(from, to int) float64 {
			if is(from, to) {
				return rate
			}
			return 100 + float64(from+to)/64 // no two measurements are alike
		}
	}
	from0to1 := func(from, to int) bool { return from == 0 && to == 1 }
	between0and1 := func(from, to int) bool { return from+to == 1 }
	on := func(gpu int) func(from, to int) bool {
		return func(from, to int) bool { return from == gpu || to == gpu }
	}
	never := func(from, to int) bool { return false }
	upwards := func(from, to int) bool { return from < to }
	// The first two and the last two are near each other.
	apart := func(from, to int) bool { return from/2 != to/2 }
	for _, c := range []struct {
		name string
		gpus int
		rate func(from, to int) float64
		want []string // how the problems begin
	}{
		{"all alike", 8, slowIf(0, never), nil},
		{
			"one direction of 8 GPUs", 8, slowIf(50, from0to1),
			[]string{"the link from rank 0 to rank 1 reaches 50.0 GB/s alone, the median of similar links 100."},
		},
		{"one direction, very slow", 4, slowIf(1, from0to1), []string{"the link from rank 0 to rank 1 reaches 1.0"}},
		{"a pair", 4, slowIf(50, between0and1), []string{"the link from rank 0 to rank 1", "the link from rank 1 to rank 0"}},
		{
			"a pair of 3 GPUs", 3, slowIf(50, between0and1),
			[]string{"the link from rank 0 to rank 1", "the link from rank 1 to rank 0"},
		},
		{"a GPU of 8", 8, slowIf(50, on(5)), []string{"the links of rank 5 reach 50.0 GB/s alone, those of the others 100."}},
		{"a GPU of 3", 3, slowIf(50, on(2)), []string{"the links of rank 2 reach 50.0"}},
		{
			"a direction of 2 GPUs", 2, slowIf(89, from0to1),
			[]string{"the link from rank 0 to rank 1 reaches 89.0 GB/s alone, the opposite direction 100.0"},
		},
		{"2 GPUs alike", 2, slowIf(91, from0to1), nil},
		{"less than a tenth", 8, slowIf(91, from0to1), nil},
		{"less than a tenth of a GPU", 8, slowIf(91, on(3)), nil},
		{"one direction is the slower by design", 4, slowIf(80, upwards), nil},
		{"two near pairs", 4, slowIf(50, apart), nil},
		{"links of three kinds", 4, func(from, to int) float64 { return []float64{85, 100, 160}[(from+to)%3] }, nil},
		{"a direction between GPUs that are not all near", 4, func(from, to int) float64 {
			if from == 0 && to == 1 {
				return 70
			}
			return slowIf(50, apart)(from, to)
		}, []string{"the link from rank 0 to rank 1 reaches 70.0 GB/s alone, the opposite direction 100.0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := linked(c.gpus, c.rate)
			got := d.slowness(measures()[0])
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
			if f := d.speed(); (f.Status == Warn) != (len(c.want) > 0) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// A link that is slow only while all are busy is named as well, and what is more
// than one is listed.
func TestSlowWhenBusy(t *testing.T) {
	d := linked(4, func(from, to int) float64 { return 100 })
	d.Pairs[0].CopyGBs, d.Pairs[0].LoadedGBs = 50, 60
	want := []string{
		"the link from rank 0 to rank 1 reaches 50.0 GB/s alone, the median of similar links 100.0",
		"the link from rank 0 to rank 1 reaches 60.0 GB/s with all links busy, the median of similar links 100.0",
	}
	f := d.speed()
	if diff := cmp.Diff(want, f.Details); diff != "" {
		t.Error(diff)
	}
	if !strings.HasSuffix(f.Summary, "; and 1 more") {
		t.Error(f.Summary)
	}
}

// Links are held against those that connect GPUs in the same way: where fewer than half
// go through the CPU, these are not slow, but one of them may be.
func TestLinksOfAKind(t *testing.T) {
	kind := func(from, to int) string {
		if distance := (from - to + 8) % 8; 3 <= distance && distance <= 5 {
			return "SYS"
		}
		return "NV2"
	}
	d := linked(8, func(from, to int) float64 { return map[string]float64{"SYS": 10, "NV2": 50}[kind(from, to)] })
	for rank := range d.Ranks {
		uuid := string(rune('a' + rank))
		d.Ranks[rank].UUID, d.Devices = uuid, append(d.Devices, Device{Index: rank, UUID: uuid})
		var row []string
		for to := range d.Ranks {
			row = append(row, kind(rank, to))
		}
		d.Topology = append(d.Topology, row)
	}
	if f := d.speed(); f.Status != OK {
		t.Errorf("%+v", f)
	}
	d.Pairs[2].CopyGBs = 8 // 0 to 3
	want := []string{"the link from GPU 0 to GPU 3 reaches 8.0 GB/s alone, the median of similar links 10.0"}
	if diff := cmp.Diff(want, d.slowness(measures()[0])); diff != "" {
		t.Error(diff)
	}
}
