package gate

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	const all = math.MaxInt64
	for _, c := range []struct {
		metric Metric
		text   string
		want   Rule
	}{
		{BusBW, "allreduce@>=64M:300", Rule{Collective: "allreduce", Least: 64 << 20, Most: all, Limit: 300}},
		{
			BusBW, "all_reduce_perf/twoshot@64m-1G:0.5",
			Rule{Collective: "allreduce", Algorithm: "twoshot", Least: 64 << 20, Most: 1 << 30, Limit: 0.5},
		},
		{BusBW, " broadcast@1000:7 ", Rule{Collective: "broadcast", Least: 1000, Most: 1000, Limit: 7}},
		{BusBW, "reduce:1e2", Rule{Collective: "reduce", Most: all, Limit: 100}},
		{Latency, "allreduce@<=4K:20us", Rule{Collective: "allreduce", Most: 4 << 10, Limit: 20}},
		{Latency, "allgather/ll:1.5ms", Rule{Collective: "allgather", Algorithm: "ll", Most: all, Limit: 1500}},
		{Latency, "barrier:900ns", Rule{Collective: "barrier", Most: all, Limit: 0.9}},
	} {
		c.want.Metric, c.want.Source = c.metric, "test"
		got, err := Parse(c.metric, c.text, "test")
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		metric     Metric
		text, want string
	}{
		{BusBW, "", "the limit is missing"},
		{BusBW, "allreduce", "the limit is missing"},
		{BusBW, "allredcue:3", `no collective "allredcue"`},
		{BusBW, "allreduce/threeshot:3", `no algorithm "threeshot"`},
		{BusBW, "allreduce/:3", `no algorithm ""`},
		{BusBW, "allreduce@>64M:3", `size ">64M"`},
		{BusBW, "allreduce@:3", `size ""`},
		{BusBW, "allreduce@64MB:3", `size "64MB"`},
		{BusBW, "allreduce@-1:3", `size ""`},
		{BusBW, "allreduce@2M-1M:3", "2M is more than 1M"},
		{BusBW, "allreduce:0", "above 0"},
		{BusBW, "allreduce:-3", "above 0"},
		{BusBW, "allreduce:NaN", "above 0"},
		{BusBW, "allreduce:Inf", "above 0"},
		{BusBW, "allreduce:20us", "not a number of GB/s"},
		{BusBW, "barrier:3", "no bus bandwidth"},
		{Latency, "barrier@4K:3us", "no sizes"},
		{Latency, "allreduce:20", "with its unit"},
		{Latency, "allreduce:1.2.3us", "not a length of time"},
		{Latency, "allreduce:0us", "between 1ns and 1h"},
		{Latency, "allreduce:2h", "between 1ns and 1h"},
	} {
		_, err := Parse(c.metric, c.text, "test")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasSuffix(err.Error(), c.metric.Grammar()) {
			t.Errorf("%q: error %v, want %q and the grammar", c.text, err, c.want)
		}
	}
}

// FuzzParse checks that a rule that is parsed and written parses to the same rule.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"allreduce@>=64M:300", "allreduce/twoshot@64M-1G:0.5", "reduce@0:1e300", "allgather@<=4K:20us", "barrier:1ms",
		"alltoall@1-1:3", "a@b@c:1:2",
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, latency bool) {
		metric := BusBW
		if latency {
			metric = Latency
		}
		rule, err := Parse(metric, text, "")
		if err != nil {
			return
		}
		if !(rule.Limit > 0) || rule.Least > rule.Most || rule.Least < 0 {
			t.Fatalf("%q: %+v", text, rule)
		}
		again, err := Parse(metric, rule.String(), "")
		if err != nil || again != rule {
			t.Fatalf("%q: %+v is written %s and read %+v, %v", text, rule, rule, again, err)
		}
	})
}
