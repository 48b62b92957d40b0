package session

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"gpurun/cmd/gpurun/outcome"
	"gpurun/cudart"
	"gpurun/worker/result"
)

// TestSlowRankIsNamed follows a rank's times from its worker's report to the
// results and to stderr.
func TestSlowRankIsNamed(t *testing.T) {
	gpus := []cudart.Info{{Backend: "cuda"}, {Backend: "cuda"}, {Backend: "cuda"}}
	slow := result.Result{
		Collective: "allreduce", Algorithm: "twoshot", Root: -1, Bytes: 1 << 20, RankTimes: []float64{100, 150, 100},
	}
	even := slow
	even.RankTimes = []float64{100, 101, 100}
	g := &gatherer{renderer: silent{}}
	for _, u := range []result.Update{{Devices: gpus}, {Result: &slow}, {Result: &even}} {
		data, err := json.Marshal(u)
		if err == nil {
			err = g.update(0, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := g.report.Results[0].SlowRank; got == nil || *got != 1 || g.report.Results[1].SlowRank != nil {
		t.Errorf("slow ranks %v and %v, want 1 and none", got, g.report.Results[1].SlowRank)
	}
	var stderr bytes.Buffer
	outcome.ExplainSpeed(&stderr, g.report)
	if !strings.HasPrefix(stderr.String(), "gpurun: rank 1 was slower than the others in 1 of 2 results of 1M and more") {
		t.Errorf("%q", stderr.String())
	}
}
