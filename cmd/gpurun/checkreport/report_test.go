package checkreport

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
)

// a report with a race through a flag, a wrong result without code, and a suppressed note.
func sample() Report {
	write := Side{
		Rank: 1, Kernel: "ping", Block: 2, Warp: 3, Action: "writes", Instruction: "st.global.u32 [%rd1], %r1",
		Module: "ping.ptx", Line: 24, Source: "src/ping it.cu:11",
	}
	read := Side{Kernel: "ping", Action: "reads", Instruction: "ld.global.u32 %r1, [%rd1]", Module: "ping.ptx", Line: 34}
	race := Finding{
		Kind: "race", Cause: "a scope is too narrow", Sides: []Side{write, read}, Flag: []Side{write, read},
		Advice: "use .sys", Text: []string{"RACE  read after write", "  use .sys"}, Schedules: 1,
		Case: "a b, 2 ranks", Role: Cause,
		Replay: "race-1.json", Schedule: 3,
	}
	wrong := Finding{
		Kind: "wrong-result", Cause: "the result of a call is wrong", Sides: []Side{{Rank: 1, Command: "call 1"}},
		Text: []string{"WRONG RESULT  rank 1's output"}, Role: Consequence, Schedules: 5,
	}
	note := race
	note.Note = true
	return Report{
		Schema: Schema, Version: "1", Verdict: Findings, ExitCode: 1,
		Cases: []Case{
			{
				Collective: "allreduce", Algorithm: "oneshot", Ranks: 2, Findings: []int{0, 1}, Schedules: 3, Seconds: 1.5,
				Blocks: 5, BlocksEnded: 4,
			},
			{Collective: "allreduce", Algorithm: "oneshot", Ranks: 3, Incomplete: []string{"x", "y"}, Schedules: 4},
			{Collective: "barrier", Algorithm: "flag", Ranks: 3, Schedules: 4},
		},
		Findings: []Finding{race, wrong}, Suppressed: []Suppressed{{note, "known"}}, Incomplete: []string{"oneshot: x"},
	}
}

// What SARIF 2.1.0 requires is there: see its schema's lists named required.
func TestSARIFHasWhatIsRequired(t *testing.T) {
	var out bytes.Buffer
	if err := WriteSARIF(&out, sample()); err != nil {
		t.Fatal(err)
	}
	var log map[string]any
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	required := map[string][]string{
		"":            {"version", "runs"},
		"runs":        {"tool", "results"},
		"tool":        {"driver"},
		"driver":      {"name"},
		"rules":       {"id"},
		"invocations": {"executionSuccessful"},
		"results":     {"message", "ruleId"},
		"message":     {"text"}, "shortDescription": {"text"}, "fullDescription": {"text"},
		"codeFlows": {"threadFlows"}, "threadFlows": {"locations"}, "suppressions": {"kind"},
		"toolExecutionNotifications": {"message"}, "artifactLocation": {"uri"}, "region": {"startLine"},
	}
	seen := map[string]bool{}
	var visit func(name string, x any)
	visit = func(name string, x any) {
		switch x := x.(type) {
		case []any:
			for _, element := range x {
				visit(name, element)
			}
		case map[string]any:
			seen[name] = true
			for _, key := range required[name] {
				if _, ok := x[key]; !ok {
					t.Errorf("%q lacks %s: %v", name, key, x)
				}
			}
			for key, value := range x {
				visit(key, value)
			}
		}
	}
	visit("", log)
	for name := range required {
		if !seen[name] {
			t.Errorf("the sample has no %q", name)
		}
	}
	if log["version"] != "2.1.0" {
		t.Errorf("version %v", log["version"])
	}
}

// The side that came last and is in code is the location; the others are related. Paths are URIs.
func TestSARIFLocations(t *testing.T) {
	var out bytes.Buffer
	if err := WriteSARIF(&out, sample()); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	results := log.Runs[0].Results
	race := results[0]
	if p := race.Locations[0].Physical; p.Artifact.URI != "ping.ptx" || p.Region.StartLine != 34 {
		t.Errorf("%+v", p)
	}
	if p := race.Related[0].Physical; p.Artifact.URI != "src/ping%20it.cu" || p.Region.StartLine != 11 {
		t.Errorf("%+v", p)
	}
	if flows := race.CodeFlows[0].ThreadFlows; len(flows) != 2 || flows[0].ID != "rank 1" ||
		len(flows[0].Locations) != 2 || flows[1].Locations[1].Order != 4 {
		t.Errorf("%+v", flows)
	}
	if wrong := results[1]; wrong.Locations[0].Physical != nil || wrong.RuleIndex != 1 || len(wrong.CodeFlows) > 0 {
		t.Errorf("%+v", wrong)
	}
	note := results[2]
	if note.Level != "note" || note.Suppressions[0].Justification != "known" || note.RuleIndex != 0 {
		t.Errorf("%+v", note)
	}
	if race.Fingerprints["gpurun/v1"] != note.Fingerprints["gpurun/v1"] {
		t.Error("the same finding has two fingerprints")
	}
}

// A case with findings has failed, and one that was not checked is an error.
func TestJUnitCounts(t *testing.T) {
	var out bytes.Buffer
	if err := WriteJUnit(&out, sample()); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Suites   []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Time string `xml:"time,attr"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Tests != 3 || doc.Failures != 1 || doc.Errors != 1 || len(doc.Suites) != 2 ||
		doc.Suites[0].Name != "check.allreduce" || doc.Suites[0].Cases[0].Time != "1.500" {
		t.Errorf("%+v", doc)
	}
}

// No list of the JSON is null, and what was written can be read.
func TestJSONHasNoNull(t *testing.T) {
	for _, r := range []Report{{}, sample()} {
		var out bytes.Buffer
		if err := WriteJSON(&out, r); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(out.Bytes(), []byte("null")) {
			t.Errorf("%s", out.Bytes())
		}
		var again Report
		if err := json.Unmarshal(out.Bytes(), &again); err != nil || len(again.Cases) != len(r.Cases) {
			t.Errorf("%v, %+v", err, again)
		}
	}
}

// The table has a row for each algorithm, and long lists are cut.
func TestText(t *testing.T) {
	r := sample()
	pair := r.Findings[0]
	pair.Role, pair.Same, pair.Replay = Pair, "flag", ""
	r.Findings = append(r.Findings, pair)
	r.Incomplete = []string{"a: 1", "a: 2", "a: 3", "a: 4", "a: 5", "b: 1"}
	var out bytes.Buffer
	if err := Write(&out, r); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"allreduce oneshot  2,3    0      7 ", " 1 finding\n", "a: 2 more, which --json lists", "  b: 1\n",
		"1 finding is suppressed:\n  RACE read after write; use .sys: known\n",
		"\nFINDINGS: 1 finding; 2 algorithms, 4 of 5 blocks, 0 sizes, 11 schedules of 2 and 3 ranks\nexit code 1: ",
		"use .sys\n  and 1 more pair of lines for the same flag, which --json lists\n" +
			"  wrong results in 5 schedules may follow from it: rank 1's output\n" +
			"  in 1 schedule of a b, 2 ranks, first in number 3: race-1.json\n\n" +
			"run a schedule again: gpurun check --replay race-1.json\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	clean := Report{Verdict: Clean, Cases: []Case{{Ranks: 2, Complete: true}, {Ranks: 3}}}
	if got := clean.Summary(); !strings.HasSuffix(got, "; not a proof") {
		t.Error(got)
	}
	clean.Cases[1].Complete = true
	if got := clean.Summary(); !strings.HasSuffix(got, "; every order of strong accesses") {
		t.Error(got)
	}
	testNotes(t)
	for ranks, want := range map[string]string{
		"": "no ranks", "1": "1 rank", "2": "2 ranks", "2 3": "2 and 3 ranks", "2 3 4": "2, 3 and 4 ranks",
	} {
		var all []Case
		for word := range strings.FieldsSeq(ranks) {
			all = append(all, Case{Ranks: int(word[0] - '0')})
		}
		if got := ranksOf(all); got != want {
			t.Errorf("%v: %s", all, got)
		}
	}
}

// Notes are counted as such, in the verdict and in the table. They are no failures.
func testNotes(t *testing.T) {
	t.Helper()
	note, mistake, of := Finding{Note: true, Role: Cause}, Finding{Role: Consequence, Kind: "race"}, Case{Ranks: 2}
	for _, tt := range []struct {
		verdict    string
		findings   []Finding
		incomplete []string
		found      string
		summary    string
	}{
		{
			Clean,
			[]Finding{note},
			nil, "1 note",
			"CLEAN: 1 note; 1 algorithm, 0 of 0 blocks, 0 sizes, 0 schedules of 2 ranks; not a proof",
		},
		{Incomplete, []Finding{note, note}, []string{"x"}, "incomplete", "INCOMPLETE: 2 notes; 1 algorithm, "},
		{Findings, []Finding{note, mistake}, nil, "1 finding, 1 note", "FINDINGS: 1 finding, 1 note; 1 algorithm, "},
		{Clean, nil, nil, "nothing", "CLEAN: 1 algorithm, "},
	} {
		of.Findings, of.Incomplete = nil, tt.incomplete
		for i := range tt.findings {
			tt.findings[i].Group, of.Findings = i, append(of.Findings, i)
		}
		r := Report{Verdict: tt.verdict, Findings: tt.findings, Cases: []Case{of}}
		if got := r.found(rowsOf(r.Cases)[0]); got != tt.found || !strings.HasPrefix(r.Summary(), tt.summary) {
			t.Errorf("%s: %s", got, r.Summary())
		}
	}
	both := Report{Findings: []Finding{note, mistake}} // a note explains a mistake
	if n := both.all(); n != (causes{findings: 1}) {
		t.Errorf("%+v", n)
	}
	var out bytes.Buffer
	clean := Report{Verdict: Clean, Findings: []Finding{note}, Cases: []Case{{Findings: []int{0}}}}
	if err := WriteJUnit(&out, clean); err != nil || strings.Contains(out.String(), "<failure") {
		t.Errorf("%v: %s", err, out.String())
	}
}

// A finding of several cases counts the schedules of all of them, so all of them are named.
func TestProvenanceOfSeveralCases(t *testing.T) {
	oneshot := Case{Collective: "allreduce", Algorithm: "oneshot", Ranks: 2, Findings: []int{0}}
	more, other, without := oneshot, oneshot, oneshot
	more.Ranks, other.Ranks, other.Algorithm, without.Ranks, without.Findings = 3, 4, "twoshot", 8, nil
	for want, cases := range map[string][]Case{
		"in 9 schedules of allreduce oneshot, 2 ranks, first in number 3":                                {oneshot, without},
		"in 9 schedules of allreduce oneshot, 2 and 3 ranks, first in number 3 of 2 ranks":               {oneshot, more},
		"in 9 schedules of 2 algorithms, 2 and 4 ranks, first in number 3 of allreduce oneshot, 2 ranks": {oneshot, other},
	} {
		r := Report{Cases: cases, Findings: []Finding{{Case: oneshot.Name(), Schedules: 9, Schedule: 3}}}
		if got := r.provenance(0); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
