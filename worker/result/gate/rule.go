// Package gate decides whether verified results are fast enough: it compares every
// single result, never a mean, with thresholds. The user gives them one by one, or they
// come from a profile of a GPU model.
package gate

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"gpurun/kernels/tuning"
	"gpurun/worker/result"
)

// Metric is what a rule limits.
type Metric string

// The metrics. Both are those of the median on the slowest rank.
const (
	BusBW   Metric = "busbw"   // GB/s at least, 1e9 bytes per second
	Latency Metric = "latency" // microseconds at most
)

// Rule is a threshold for some results.
type Rule struct {
	Metric     Metric
	Collective string
	Algorithm  string // "": any
	// Least and Most bound the size in bytes, both included. Most is
	// math.MaxInt64 where there is no bound.
	Least, Most int64
	Limit       float64
	Source      string // where the limit comes from, for messages
}

// anySize is the Most of a rule without an upper bound.
const anySize = math.MaxInt64

// String writes the rule as [Parse] reads it.
func (r Rule) String() string {
	text := r.Collective
	if r.Algorithm != "" {
		text += "/" + r.Algorithm
	}
	least, most := tuning.Size(r.Least).String(), tuning.Size(r.Most).String()
	switch {
	case r.Least == r.Most:
		text += "@" + least
	case r.Least > 0 && r.Most < anySize:
		text += "@" + least + "-" + most
	case r.Least > 0:
		text += "@>=" + least
	case r.Most < anySize:
		text += "@<=" + most
	}
	text += ":" + strconv.FormatFloat(r.Limit, 'f', -1, 64)
	if r.Metric == Latency {
		text += "us"
	}
	return text
}

// matches reports whether the rule applies to a result. Where a size is not divisible by
// the ranks, the measured size is a little smaller than the requested one: a rule may
// name either.
func (r Rule) matches(x result.Result) bool {
	return !x.Untimed && x.Collective == r.Collective && (r.Algorithm == "" || x.Algorithm == r.Algorithm) &&
		(r.covers(x.Bytes) || r.covers(cmp.Or(x.AskedBytes, x.Bytes)))
}

func (r Rule) covers(bytes int64) bool { return r.Least <= bytes && bytes <= r.Most }

// value is the result's value of the rule's metric.
func (r Rule) value(x result.Result) float64 {
	if r.Metric == Latency {
		return x.Time.P50
	}
	return x.BusBW
}

// margin is the distance of a value from the limit, divided by the limit; negative: the
// value misses the limit. A value that is not positive and finite misses every limit.
func (r Rule) margin(value float64) float64 {
	switch {
	case !(value > 0) || math.IsInf(value, 0):
		return math.Inf(-1)
	case r.Metric == Latency:
		return 1 - value/r.Limit
	}
	return value/r.Limit - 1
}

// complain describes by how much a result misses the limit.
func (r Rule) complain(x result.Result) string {
	value := r.value(x)
	order, unit, off := "at least", "GB/s", "under"
	if r.Metric == Latency {
		order, unit, off = "at most", "us", "over"
	}
	by := "which is no measurement"
	if margin := r.margin(value); !math.IsInf(margin, 0) {
		by = fmt.Sprintf("%s%% %s", number(-100*margin), off)
	}
	return fmt.Sprintf("%s: wanted %s %s %s, got %s %s, %s (%s, %s)", x, order, number(r.Limit), unit, number(value), unit,
		by, r, r.Source)
}

// number writes a rate or time with at least four significant digits.
func number(x float64) string {
	if x >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
