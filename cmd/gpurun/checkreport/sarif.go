package checkreport

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// The objects of SARIF 2.1.0 (OASIS, 2020) that code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri,omitempty"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		ShortDescription sarifMessage `json:"shortDescription"`
		FullDescription  sarifMessage `json:"fullDescription"`
		DefaultLevel     sarifLevel   `json:"defaultConfiguration"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		ExitCode            int                 `json:"exitCode"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifMessage       `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Related      []sarifLocation    `json:"relatedLocations,omitempty"`
		CodeFlows    []sarifCodeFlow    `json:"codeFlows,omitempty"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		ID       int            `json:"id,omitempty"`
		Physical *sarifPhysical `json:"physicalLocation,omitempty"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
		Message  *sarifMessage  `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"name"`
		Kind string `json:"kind"`
	}
	sarifCodeFlow struct {
		ThreadFlows []sarifThreadFlow `json:"threadFlows"`
	}
	sarifThreadFlow struct {
		ID        string              `json:"id"`
		Locations []sarifFlowLocation `json:"locations"`
	}
	sarifFlowLocation struct {
		Location sarifLocation `json:"location"`
		Order    int           `json:"executionOrder"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
)

// WriteSARIF writes the findings, and those that are suppressed, as SARIF 2.1.0. Each kind and cause is a rule. What
// was not checked is a notification of the run.
func WriteSARIF(w io.Writer, r Report) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{Name: "gpurun check", Version: r.Version, Rules: []sarifRule{}}},
		Invocations: []sarifInvocation{{
			ExecutionSuccessful: r.Verdict != Incomplete, ExitCode: r.ExitCode, Notifications: []sarifNotification{},
		}},
		Results: []sarifResult{},
	}
	for _, text := range r.Incomplete {
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications,
			sarifNotification{"warning", sarifMessage{"not checked: " + text}})
	}
	for _, f := range r.Findings {
		run.add(f)
	}
	for _, s := range r.Suppressed {
		run.add(s.Finding)
		run.Results[len(run.Results)-1].Suppressions = []sarifSuppression{{"external", s.Reason}}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run},
	})
}

// add adds a finding, and its rule if that is new.
func (r *sarifRun) add(f Finding) {
	rules := &r.Tool.Driver.Rules
	at := slices.IndexFunc(*rules, func(x sarifRule) bool { return x.ID == f.Rule() })
	if at < 0 {
		at = len(*rules)
		*rules = append(*rules, sarifRule{
			ID: f.Rule(), ShortDescription: sarifMessage{f.Kind}, FullDescription: sarifMessage{f.Cause},
			DefaultLevel: sarifLevel{f.level()},
		})
	}
	out := sarifResult{
		RuleID: f.Rule(), RuleIndex: at, Level: f.level(), Message: sarifMessage{strings.Join(f.Text, "\n")},
		Fingerprints: map[string]string{"gpurun/v1": f.fingerprint()},
	}
	main := f.mainSide()
	for i := range f.Sides {
		l := f.Sides[i].location()
		if i == main {
			out.Locations = []sarifLocation{l}
			continue
		}
		l.ID = len(out.Related) + 1
		out.Related = append(out.Related, l)
	}
	if out.Locations == nil {
		out.Locations = []sarifLocation{}
	}
	if len(f.Flag) > 0 {
		out.CodeFlows = []sarifCodeFlow{f.flow()}
	}
	r.Results = append(r.Results, out)
}

func (f Finding) level() string {
	if f.Note {
		return "note"
	}
	return "error"
}

// fingerprint is the same for the same finding in another run: it has no ranks, blocks and addresses.
func (f Finding) fingerprint() string {
	var sides []string
	for _, s := range f.Sides {
		sides = append(sides, fmt.Sprintf("%s %s:%d %s", s.Kernel, s.Module, s.Line, s.Instruction))
	}
	slices.Sort(sides)
	return f.Rule() + ": " + strings.Join(sides, "; ")
}

// mainSide is the side that a reader is shown first: the last one that is in code, or of a wrong result the load that
// came too early or too late, in front of the store.
func (f Finding) mainSide() int {
	if load := len(f.Sides) - 2; f.Kind == "wrong-result" && load > 1 {
		return load
	}
	for i := len(f.Sides) - 1; i >= 0; i-- {
		if f.Sides[i].Module != "" {
			return i
		}
	}
	return len(f.Sides) - 1
}

// flow is the path of a flag: first access, release, acquire, second access.
func (f Finding) flow() sarifCodeFlow {
	path := slices.Clone(f.Flag)
	if len(f.Sides) == 2 {
		path = slices.Concat(f.Sides[:1], f.Flag, f.Sides[1:])
	}
	var flow sarifCodeFlow
	for i, s := range path {
		id := fmt.Sprintf("rank %d", s.Rank)
		at := slices.IndexFunc(flow.ThreadFlows, func(t sarifThreadFlow) bool { return t.ID == id })
		if at < 0 {
			at = len(flow.ThreadFlows)
			flow.ThreadFlows = append(flow.ThreadFlows, sarifThreadFlow{ID: id})
		}
		t := &flow.ThreadFlows[at]
		t.Locations = append(t.Locations, sarifFlowLocation{s.location(), i + 1})
	}
	return flow
}

// location is where a side is.
func (s Side) location() sarifLocation {
	l := sarifLocation{Message: &sarifMessage{strings.Join(strings.Fields(s.Who()+" "+s.Action+" "+s.Instruction), " ")}}
	if s.Kernel != "" {
		l.Logical = []sarifLogical{{s.Kernel, "function"}}
	}
	file, line := s.Place()
	if file == "" {
		return l
	}
	l.Physical = &sarifPhysical{Artifact: sarifArtifact{uri(file)}}
	if line > 0 {
		l.Physical.Region = &sarifRegion{line}
	}
	return l
}

// uri is a file as a URI: relative to the working directory, or absolute.
func uri(file string) string {
	u := url.URL{Path: filepath.ToSlash(file)}
	if filepath.IsAbs(file) {
		u.Scheme = "file"
	}
	return u.String()
}
