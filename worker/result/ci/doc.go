// Package ci writes what systems that run jobs read: JUnit XML, Prometheus
// metrics, and the annotations and step summaries of GitHub Actions. All of it
// comes from the report; nothing from the environment gets in.
package ci

import "gpurun/worker/result"

// place says where a result's buffers were.
func place(r result.Result) string {
	if r.InPlace {
		return "in"
	}
	return "out"
}

// violations are those of each result, by its index; those of no result have
// the index -1.
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
