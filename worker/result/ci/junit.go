package ci

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gpurun/worker/result"
)

// The elements that all readers of JUnit XML understand. encoding/xml replaces
// characters that XML 1.0 does not allow.
type (
	testSuites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Suites   []*testSuite
	}
	testSuite struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Time    string   `xml:"time,attr"` // seconds
		Failure *finding `xml:"failure,omitempty"`
		Error   *finding `xml:"error,omitempty"`
		Skipped *skipped `xml:"skipped,omitempty"`
	}
	finding struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	skipped struct {
		Message string `xml:"message,attr"`
	}
)

// JUnit writes a report as JUnit XML: a suite for each collective with a case for
// each result, whose time is the median of one call, and suites for the machine's checks, for
// thresholds without results, and for a run that ended early. Wrong data and missed
// thresholds are failures; a run that ended early is an error.
func JUnit(w io.Writer, title string, r result.Report) error {
	doc := testSuites{Name: title}
	for _, c := range r.Checks {
		doc.add("doctor", checkCase(c))
	}
	missed, seen := violations(r.Gate), map[string]int{}
	for i, x := range r.Results {
		doc.add(x.Collective, resultCase(x, missed[i], seen))
	}
	for _, v := range missed[-1] {
		doc.add("thresholds", testCase{
			Name: v.Rule, Time: "0", Failure: &finding{Type: "threshold", Message: v.Text, Text: v.Text},
		})
	}
	if r.Failure != "" {
		message := fmt.Sprintf("the run ended early with exit code %d", r.ExitCode)
		doc.add("run", testCase{
			Name: "the run comes to its end", Time: "0", Error: &finding{Type: "failure", Message: message, Text: r.Failure},
		})
	}
	return doc.write(w)
}

// add puts a case into the suite of that name and counts it.
func (d *testSuites) add(suite string, c testCase) {
	var s *testSuite
	for _, known := range d.Suites {
		if known.Name == suite {
			s = known
		}
	}
	if s == nil {
		s = &testSuite{Name: suite}
		d.Suites = append(d.Suites, s)
	}
	c.Class = "gpurun." + suite
	s.Cases = append(s.Cases, c)
	for _, n := range []struct {
		counts bool
		of     []*int
	}{
		{true, []*int{&d.Tests, &s.Tests}},
		{c.Failure != nil, []*int{&d.Failures, &s.Failures}},
		{c.Error != nil, []*int{&d.Errors, &s.Errors}},
		{c.Skipped != nil, []*int{&d.Skipped, &s.Skipped}},
	} {
		for _, counter := range n.of {
			if n.counts {
				*counter++
			}
		}
	}
}

// resultCase is the case of a result. Its name lacks the blocks, which change with the
// tuning, and the library's version: CI systems recognize a case of an earlier run by
// its name. Repeated names, of several cycles, are numbered.
func resultCase(x result.Result, missed []result.Violation, seen map[string]int) testCase {
	named := x
	named.Blocks, named.Library = 0, ""
	c := testCase{Name: named.String(), Time: strconv.FormatFloat(x.Time.P50/1e6, 'f', 9, 64)}
	if seen[c.Name]++; seen[c.Name] > 1 {
		c.Name += fmt.Sprintf(" (%d)", seen[c.Name])
	}
	var sentences []string
	kind := "threshold"
	if x.IsWrong() {
		kind, sentences = "wrong data", append(sentences, x.Complaints()...)
		if len(sentences) == 0 {
			sentences = []string{fmt.Sprintf("%d wrong elements", *x.Wrong)}
		}
	}
	for _, v := range missed {
		sentences = append(sentences, v.Text)
	}
	switch {
	case len(sentences) > 0:
		c.Failure = &finding{Type: kind, Message: sentences[0], Text: strings.Join(sentences, "\n")}
	case x.Wrong == nil:
		c.Skipped = &skipped{Message: "not verified"}
	}
	return c
}

// checkCase is the case of a check of the machine; a warning passes.
func checkCase(k result.Check) testCase {
	c := testCase{Name: k.Name, Time: "0"}
	if k.Status == result.StatusFail {
		c.Failure = &finding{Type: "environment", Message: k.Summary, Text: k.String()}
	}
	return c
}
