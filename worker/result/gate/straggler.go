package gate

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gpurun/cudart"
	"gpurun/worker/result"
)

// A rank is slow when its median is more than slowFactor times the mean of the
// others' and more than one standard deviation of theirs above it. At sizes below
// slowBytes a difference of a microsecond, which is chance, would be enough.
const (
	slowFactor = 1.10
	slowBytes  = 1 << 20
)

// SlowRank is the rank that was slower than the others, or nil.
//
// In a collective all wait for the slowest, so a slow GPU or link makes all ranks'
// times long, and alike: no difference is no proof of health. What a
// difference does show is a rank that was late in a way the others need not wait
// for: its own launches, its last stores, a GPU shared with someone else. Between
// a root and the others there are differences by design, and the simulator's ranks
// take turns on the CPU, so neither is judged.
func SlowRank(devices []cudart.Info, r result.Result) *int {
	onGPUs := !slices.ContainsFunc(devices, func(d cudart.Info) bool { return d.Backend != cuda })
	if !onGPUs || r.Bytes < slowBytes || r.Root >= 0 {
		return nil
	}
	if rank, ok := slowest(r.RankTimes); ok {
		return &rank
	}
	return nil
}

// slowest finds the rank with the longest time and reports whether it is slow.
func slowest(times []float64) (rank int, slow bool) {
	if len(times) < 2 {
		return 0, false
	}
	for i, t := range times {
		if t > times[rank] {
			rank = i
		}
	}
	mean, sigma := moments(slices.Delete(slices.Clone(times), rank, rank+1))
	return rank, mean > 0 && times[rank] > slowFactor*mean && times[rank] > mean+sigma
}

// moments are the mean and the standard deviation.
func moments(xs []float64) (mean, sigma float64) {
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		sigma += (x - mean) * (x - mean) / float64(len(xs))
	}
	return mean, math.Sqrt(sigma)
}

// SlowRanks says of each rank that was slow in any result how often it was, and
// where the most, a sentence each, by rank.
func SlowRanks(results []result.Result) []string {
	var sentences []string
	judged := 0
	times, worst := map[int]int{}, map[int]result.Result{}
	for _, r := range results {
		if r.Bytes >= slowBytes && r.Root < 0 {
			judged++
		}
		if r.SlowRank == nil {
			continue
		}
		rank := *r.SlowRank
		if times[rank]++; times[rank] == 1 || lag(r) > lag(worst[rank]) {
			worst[rank] = r
		}
	}
	for _, rank := range slices.Sorted(maps.Keys(times)) {
		r := worst[rank]
		sentences = append(sentences, fmt.Sprintf(
			"rank %d was slower than the others in %d of %d results of 1M and more, the most in %s: %s us, %.0f%% more than their mean",
			rank, times[rank], judged, r, number(r.RankTimes[rank]), 100*(lag(r)-1)))
	}
	return sentences
}

// lag is how many times longer than the others' mean the slow rank took.
func lag(r result.Result) float64 {
	rank := *r.SlowRank
	mean, _ := moments(slices.Delete(slices.Clone(r.RankTimes), rank, rank+1))
	return r.RankTimes[rank] / mean
}
