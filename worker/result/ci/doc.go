// Package ci writes reports for CI systems: as JUnit XML, as Prometheus metrics, and as
// annotations and step summaries of GitHub Actions. It reads the report alone, and
// nothing from the environment.
package ci

import "gpurun/worker/result"

// place is "in" for a result in place, else "out".
func place(r result.Result) string {
	if r.InPlace {
		return "in"
	}
	return "out"
}

// violations groups a gate's violations by the index of the result; -1 is that of
// violations without a result.
func violations(g *result.Gate) map[int][]result.Violation {
	byResult := map[int][]result.Violation{}
	if g == nil {
		return byResult
	}
	for _, v := range g.Violations {
		at := -1
		if v.Result != nil {
			at = *v.Result
		}
		byResult[at] = append(byResult[at], v)
	}
	return byResult
}
