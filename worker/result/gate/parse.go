package gate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/tuning"
)

// Grammar says how to write a rule, for errors about one that cannot be read.
func (m Metric) Grammar() string {
	limit, example := "GBPS", "allreduce@>=64M:300"
	if m == Latency {
		limit, example = "TIME", "allreduce@<=4K:20us"
	}
	return "write COLLECTIVE[/ALGORITHM][@SIZES]:" + limit + ", with SIZES as >=64M, <=4K, 64M or 64M-1G; for example " +
		example
}

// Parse reads a rule: "allreduce/twoshot@>=64M:300" for [BusBW], in GB/s, or
// "allreduce@<=4K:20us" for [Latency]. Names and algorithms are those of the
// catalog. Errors end in the grammar.
func Parse(m Metric, text, source string) (Rule, error) {
	r, err := parse(m, strings.TrimSpace(text))
	if err != nil {
		return Rule{}, fmt.Errorf("threshold %q: %w; %s", text, err, m.Grammar())
	}
	r.Source = source
	return r, nil
}

func parse(m Metric, text string) (Rule, error) {
	r := Rule{Metric: m, Most: anySize}
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return r, fmt.Errorf("the limit is missing: it follows a colon")
	}
	about, limit := text[:colon], text[colon+1:]
	about, sizes, sized := strings.Cut(about, "@")
	what, err := r.setNames(about)
	if err != nil {
		return r, err
	}
	switch {
	case what.Shape.Empty && m == BusBW:
		return r, fmt.Errorf("%s moves no data and has no bus bandwidth, only a latency", what.Name)
	case what.Shape.Empty && sized:
		return r, fmt.Errorf("%s moves no data and has no sizes", what.Name)
	case sized:
		if err := r.setSizes(sizes); err != nil {
			return r, err
		}
	}
	r.Limit, err = parseLimit(m, limit)
	return r, err
}

// setNames reads COLLECTIVE[/ALGORITHM].
func (r *Rule) setNames(text string) (*collective.Collective, error) {
	name, algorithm, named := strings.Cut(text, "/")
	what, ok := kernels.Find(name)
	if !ok {
		return nil, fmt.Errorf("there is no collective %q (there are: %s)", name, strings.Join(collectives(), ", "))
	}
	r.Collective = what.Name
	if !named {
		return what, nil
	}
	if _, ok := what.Algorithm(algorithm); !ok {
		return nil, fmt.Errorf("%s has no algorithm %q (there are: %s)", what.Name, algorithm,
			strings.Join(algorithms(what), ", "))
	}
	r.Algorithm = algorithm
	return what, nil
}

func collectives() []string {
	var names []string
	for _, c := range kernels.Collectives() {
		names = append(names, c.Name)
	}
	return names
}

func algorithms(c *collective.Collective) []string {
	var names []string
	for _, a := range c.Algorithms {
		names = append(names, a.Name)
	}
	return names
}

// setSizes reads a condition on the size.
func (r *Rule) setSizes(text string) (err error) {
	read := func(text string) int64 {
		var s tuning.Size
		if failed := s.UnmarshalText([]byte(strings.ToUpper(text))); failed != nil && err == nil {
			err = fmt.Errorf("size %q is not a whole number of bytes, optionally with K, M or G", text)
		}
		return int64(s)
	}
	least, most, isRange := strings.Cut(text, "-")
	switch {
	case strings.HasPrefix(text, ">="):
		r.Least = read(text[2:])
	case strings.HasPrefix(text, "<="):
		r.Most = read(text[2:])
	case isRange:
		r.Least, r.Most = read(least), read(most)
	default:
		r.Least = read(text)
		r.Most = r.Least
	}
	if err == nil && r.Least > r.Most {
		return fmt.Errorf("size %s is more than %s", least, most)
	}
	return err
}

// longest is the latency above which a threshold must be a mistake.
const longest = time.Hour

// parseLimit reads the part behind the colon.
func parseLimit(m Metric, text string) (float64, error) {
	if m == BusBW {
		limit, err := strconv.ParseFloat(text, 64)
		if err != nil || !(limit > 0) || math.IsInf(limit, 0) {
			return 0, fmt.Errorf("%q is not a number of GB/s above 0", text)
		}
		return limit, nil
	}
	d, err := time.ParseDuration(text)
	switch units := []string{"ns", "us", "µs", "ms", "s"}; {
	case err != nil && slices.Contains(units, strings.TrimLeft(text, "0123456789.")):
		return 0, fmt.Errorf("%q is not a length of time", text)
	case err != nil:
		return 0, fmt.Errorf("%q is not a length of time with its unit: ns, us, ms or s", text)
	case d <= 0 || d > longest:
		return 0, fmt.Errorf("%s is not between 1ns and 1h", text)
	}
	return float64(d) / float64(time.Microsecond), nil
}
