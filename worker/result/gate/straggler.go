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
// others', and more than one standard deviation of theirs above that mean. Below
// slowBytes a random difference of a microsecond would be enough.
const (
	slowFactor = 1.10
	slowBytes  = 1 << 20
)

// SlowRank is the rank that was slower than the others, or nil.
//
// In a collective all ranks wait for the slowest one, so a slow GPU or link makes the
// times of all ranks equally long: equal times do not prove that all GPUs are healthy.
// A difference shows a delay that the other ranks do not wait for: slow launches, slow
// last stores, or a GPU that another program uses. The times of a root differ from the
// others' by design, and the simulator's ranks share the CPU: neither is judged.
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

// SlowRanks describes, in a sentence for each rank that was slow in any result, how often
// it was slow, and in which result the most.
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
			"rank %d was slower than the others in %d of %d results of 1M and more, the most in %s: %s us, "+
				"%.0f%% more than their mean",
			rank, times[rank], judged, r, number(r.RankTimes[rank]), 100*(lag(r)-1)))
	}
	return sentences
}

// lag is the slow rank's time divided by the mean of the others' times.
func lag(r result.Result) float64 {
	rank := *r.SlowRank
	mean, _ := moments(slices.Delete(slices.Clone(r.RankTimes), rank, rank+1))
	return r.RankTimes[rank] / mean
}
