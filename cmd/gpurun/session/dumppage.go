package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gpurun/worker/process/dump"
)

// activity is what ranks do that do the same.
type activity struct {
	Step   string `json:"step"`
	Phase  string `json:"phase,omitempty"`
	Kernel string `json:"kernel,omitempty"`
}

// rankDoing is the activity of a rank. InStep and InPhase are for how long its step and its phase have lasted, in
// seconds.
type rankDoing struct {
	activity
	Rank    int       `json:"rank"`
	PID     int       `json:"pid"`
	Host    string    `json:"host,omitempty"` // of a job on several machines
	InStep  float64   `json:"in_step"`
	InPhase float64   `json:"in_phase"`
	GPU     *dump.GPU `json:"gpu,omitempty"`
}

// grouped has a line for all ranks with the same activity, the smallest groups first. The times are the longest.
func grouped(ranks []rankDoing) (lines []string) {
	groups := map[activity][]rankDoing{}
	for _, r := range ranks {
		groups[r.activity] = append(groups[r.activity], r)
	}
	sorted := slices.SortedFunc(maps.Values(groups), func(a, b []rankDoing) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a[0].Rank, b[0].Rank))
	})
	for _, g := range sorted {
		first := g[0]
		text := nameOf(g) + ": " + first.Step
		longest := func(of func(rankDoing) float64) float64 {
			return of(slices.MaxFunc(g, func(a, b rankDoing) int { return cmp.Compare(of(a), of(b)) }))
		}
		if s := longest(func(r rankDoing) float64 { return r.InStep }); s >= 1 {
			text += fmt.Sprintf(" since %.0f s", s)
		}
		if first.Phase != "" {
			text += fmt.Sprintf("; %s since %.0f s", first.Phase, longest(func(r rankDoing) float64 { return r.InPhase }))
		}
		if first.Kernel != "" {
			text += "; " + first.Kernel
		}
		lines = append(lines, text)
	}
	return lines
}

// nameOf names the ranks of a group; one alone also by its process.
func nameOf(g []rankDoing) string {
	if len(g) > 1 {
		var all []string
		for _, r := range g {
			all = append(all, fmt.Sprint(r.Rank))
		}
		return "ranks " + strings.Join(all, ",")
	}
	place := fmt.Sprintf("pid %d", g[0].PID)
	if g[0].Host != "" {
		place = g[0].Host + ", " + place
	}
	return fmt.Sprintf("rank %d (%s)", g[0].Rank, place)
}

// gpusOf is a line about the GPUs of ranks, or none.
func gpusOf(ranks []rankDoing) (lines []string) {
	var all []string
	for _, r := range ranks {
		if r.GPU == nil {
			continue
		}
		text := fmt.Sprintf("rank %d GPU %d %d %%", r.Rank, r.GPU.Index, r.GPU.Utilisation)
		if r.GPU.Xid != 0 {
			text += fmt.Sprintf(" (Xid %d)", r.GPU.Xid)
		}
		all = append(all, text)
	}
	if all == nil {
		return nil
	}
	return []string{"GPU in use: " + strings.Join(all, ", ")}
}
