// Package measure times the calls of all ranks and combines what the ranks measured.
package measure

import (
	"slices"
	"time"

	"gpurun/kernels/reference"
	"gpurun/worker/result"
	"gpurun/worker/result/stats"
)

// Measurement is what one rank found out about a case. Ranks exchange it as JSON.
type Measurement struct {
	Time       result.Time       `json:"time"`
	Mismatches []result.Mismatch `json:"mismatches,omitempty"`
	// Samples are the times of a call by pass; without passes there are none.
	Samples []time.Duration `json:"samples,omitempty"`
	// OnHost are likewise how long the host took to enqueue a call. Calls in graphs have
	// none.
	OnHost []time.Duration `json:"on_host,omitempty"`
	// Norms are those of a product of random inputs. They are nil without such a product,
	// and when a norm is not finite.
	Norms *reference.Norms `json:"norms,omitempty"`
}

// Wrong is the number of wrong elements.
func (m Measurement) Wrong() (n int64) {
	for _, x := range m.Mismatches {
		n += x.Wrong
	}
	return n
}

// AddSample adds what a pass took for so many calls: on the device, and on the host to
// enqueue them. Of calls in a graph the host's time is not kept.
func (m *Measurement) AddSample(s Sample, calls int, graph bool) {
	m.Samples = append(m.Samples, s.Took/time.Duration(calls))
	if !graph {
		m.OnHost = append(m.OnHost, s.OnHost/time.Duration(calls))
	}
}

// Distribution sorts the samples and picks the quantiles by nearest rank.
func Distribution(samples []time.Duration) result.Time {
	if len(samples) == 0 {
		return result.Time{}
	}
	slices.Sort(samples)
	at := func(percent int) float64 {
		i := (len(samples)*percent + 99) / 100
		return float64(samples[max(i, 1)-1].Nanoseconds()) / 1e3
	}
	return result.Time{Min: at(0), P50: at(50), P95: at(95), P99: at(99), Max: at(100)}
}

// Combine sets what a result has of all ranks' measurements: the times of the slowest rank by
// the median, because a collective is done when all ranks are, and the mismatches of all.
func Combine(res *result.Result, all []Measurement, verified bool) {
	var wrong int64
	for rank, m := range all {
		res.RankTimes = append(res.RankTimes, m.Time.P50)
		wrong += m.Wrong()
		res.Mismatches = append(res.Mismatches, m.Mismatches...)
		if m.Time.P50 > all[res.SlowestRank].Time.P50 {
			res.SlowestRank = rank
		}
	}
	if verified {
		res.Wrong = &wrong
	}
	res.Time = all[res.SlowestRank].Time
	if len(all[0].Samples) > 0 {
		setSamples(res, all)
	}
}

// setSamples makes samples of the slowest rank's time in each pass, and the
// distribution of them; of the hosts' times it keeps the median.
func setSamples(res *result.Result, all []Measurement) {
	samples := slowest(all, func(m Measurement) []time.Duration { return m.Samples })
	res.Samples = inMicros(samples)
	res.Time = Distribution(samples)
	res.Time.P50 = stats.Median(res.Samples)
	if onHost := slowest(all, func(m Measurement) []time.Duration { return m.OnHost }); len(onHost) > 0 {
		res.OnHost = stats.Median(inMicros(onHost))
	}
}

// slowest is the longest of all ranks' times in each pass.
func slowest(all []Measurement, of func(Measurement) []time.Duration) []time.Duration {
	times := slices.Clone(of(all[0]))
	for _, m := range all[1:] {
		for pass, d := range of(m) {
			times[pass] = max(times[pass], d)
		}
	}
	return times
}

func inMicros(times []time.Duration) (us []float64) {
	for _, d := range times {
		us = append(us, float64(d.Nanoseconds())/1e3)
	}
	return us
}
