package webpage

import (
	"cmp"
	"fmt"
	"strings"

	"gpurun/cudart"
	"gpurun/worker/result"
)

// Run is the document of a report.
func Run(title string, r result.Report) Document {
	d := Document{Title: title, Status: Fail, Verdict: strings.Join(r.Reasons(), "; "), Facts: facts(r)}
	if r.Passed {
		d.Status, d.Verdict = Pass, passed(r)
	} else if reasons := r.Reasons(); len(reasons) > 1 {
		d.Verdict, d.Reasons = reasons[0], reasons[1:]
	}
	for _, s := range []Section{
		checks(r.Checks), thresholds(r.Gate),
		simulated(r, Section{Title: "Plots", Plots: plots(r)}),
		results(r), mismatches(r),
		Pairs(r.Pairs, r.NoPeerAccess), timing(r),
	} {
		if !s.empty() {
			d.Sections = append(d.Sections, s)
		}
	}
	return d
}

// simulated adds to a section of times what the times of a simulator are.
func simulated(r result.Report, s Section) Section {
	if len(s.Plots) > 0 && len(r.Devices) > 0 && r.Devices[0].Backend == "sim" {
		s.Notes = []string{"The devices are simulated: their times say nothing about hardware."}
	}
	return s
}

// empty reports whether a section says nothing.
func (s Section) empty() bool {
	return len(s.Notes)+len(s.Text)+len(s.Plots)+len(s.Drawings)+len(s.Tables) == 0
}

// passed is the verdict of a run that passed.
func passed(r result.Report) string {
	unverified := 0
	for _, x := range r.Results {
		if x.Wrong == nil {
			unverified++
		}
	}
	text := fmt.Sprintf("%s on %s", result.Count(len(r.Results), "result"), result.Machines(r.Devices))
	switch {
	case len(r.Results) == 0:
		text = "no results"
	case unverified == len(r.Results):
		text += ", none verified"
	case unverified > 0:
		text += fmt.Sprintf(", %d of them not verified", unverified)
	default:
		text += ", every element verified"
	}
	if r.Further != nil {
		text += "; " + r.Further.String()
	}
	return text
}

// checks are those of the machine before the run.
func checks(all []result.Check) Section {
	s := Section{Title: "Checks of the machine"}
	if len(all) == 0 {
		return s
	}
	t := Table{Caption: s.Title, Columns: []Column{{Title: "status"}, {Title: "check"}, {Title: "finding"}}}
	for _, c := range all {
		t.Rows = append(t.Rows, []Cell{
			{Text: string(c.Status), Status: StatusOf(c.Status)}, {Text: c.Name}, {Text: words(c.Summary, advice(c.Advice))},
		})
	}
	s.Tables = []Table{t}
	return s
}

func advice(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

// StatusOf is a check's status.
func StatusOf(s result.Status) Status {
	return map[result.Status]Status{result.StatusOK: Pass, result.StatusWarn: Warn, result.StatusFail: Fail}[s]
}

// thresholds are the rules that results were compared with.
func thresholds(g *result.Gate) Section {
	s := Section{Title: "Thresholds"}
	if g == nil || len(g.Rules)+len(g.Violations) == 0 {
		return s
	}
	s.Status = Pass
	if g.Failed() {
		s.Status = Fail
	}
	for _, v := range g.Violations {
		s.Notes = append(s.Notes, v.Text)
	}
	if g.Note != "" {
		s.Notes = append(s.Notes, g.Note)
	}
	t := Table{Caption: "Thresholds", Columns: []Column{
		{Title: "rule"}, {"limit", true}, {"results", true}, {"nearest result", true}, {Title: "source"},
	}}
	for _, rule := range g.Rules {
		worst := Cell{Text: "-"}
		if rule.Worst != nil {
			worst = figure(*rule.Worst, "%.4g")
		}
		t.Rows = append(t.Rows, []Cell{
			{Text: rule.Rule}, figure(rule.Limit, "%.4g"), figure(float64(rule.Matched), "%.0f"), worst, {Text: rule.Source},
		})
	}
	s.Tables = []Table{t}
	return s
}

// figure is a cell with a number.
func figure(v float64, format string) Cell { return Cell{Text: fmt.Sprintf(format, v), Number: v} }

// mismatches lists wrong elements.
func mismatches(r result.Report) Section {
	s := Section{Title: "Wrong elements", Status: Fail}
	t := Table{Caption: "Wrong elements", Columns: []Column{
		{Title: "call"},
		{"rank", true},
		{"wrong", true},
		{"of", true},
		{"first element", true},
		{Title: "wanted"},
		{Title: "got"},
		{Title: "when"},
	}}
	for _, x := range r.Results {
		for _, m := range x.Mismatches {
			t.Rows = append(t.Rows, []Cell{
				{Text: words(x.Collective, x.Algorithm, x.DType, result.FormatSize(x.Bytes))},
				figure(float64(m.Rank), "%.0f"),
				figure(float64(m.Wrong), "%.0f"), figure(float64(m.Of), "%.0f"), figure(float64(m.Index), "%.0f"),
				{Text: m.Want},
				{Text: m.Got},
				{Text: m.Phase},
			})
		}
	}
	if len(t.Rows) > 0 {
		s.Tables = []Table{t}
	}
	return s
}

// timing is the critical path of the run.
func timing(r result.Report) Section {
	s := Section{Title: "Time of the run"}
	if r.Timing == nil {
		return s
	}
	t := Table{Caption: "Phases", Columns: []Column{
		{Title: "phase"}, {"rank", true}, {"begin ms", true}, {"time ms", true}, {"on the critical path ms", true},
	}}
	for _, row := range r.Timing.Path {
		rank := Cell{Text: "launcher", Number: -1}
		if row.Rank >= 0 {
			rank = figure(float64(row.Rank), "%.0f")
		}
		path := figure(row.OnPath, "%.1f")
		if row.Concurrent {
			path = Cell{Text: "beside"}
		}
		t.Rows = append(t.Rows, []Cell{
			{Text: row.Phase.String()}, rank, figure(row.Begin, "%.1f"), figure(row.Time, "%.1f"), path,
		})
	}
	s.Notes = []string{fmt.Sprintf("The first call was verified after %.0f ms; the run took %.0f ms.",
		r.Timing.FirstVerified, r.Timing.Total)}
	s.Tables = []Table{t}
	return s
}

// facts say on which machine a run was, and how to repeat it.
func facts(r result.Report) []Fact {
	all := []Fact{{Name: "Ranks", Value: fmt.Sprint(r.WorldSize)}}
	if len(r.Devices) > 0 {
		all = append(all, Fact{Name: "Devices", Value: result.Machines(r.Devices)}, device(r.Devices[0]))
	}
	var hosts []string
	for _, p := range r.Processes {
		if len(hosts) == 0 || hosts[len(hosts)-1] != p.Host {
			hosts = append(hosts, p.Host)
		}
	}
	if len(hosts) > 0 {
		all = append(all, Fact{Name: "Hosts", Value: strings.Join(hosts, ", ")})
	}
	if r.Memory != nil {
		all = append(all, Fact{Name: "Shared memory", Value: words(r.Memory.Backend, advice(r.Memory.Why))})
	}
	if r.Ceiling != nil {
		value := r.Ceiling.Skipped
		if rate := r.Ceiling.Rate(); rate > 0 {
			value = fmt.Sprintf("%.2f GB/s out of a GPU, %s each; %s", rate, result.FormatSize(r.Ceiling.Bytes),
				r.Ceiling.Method)
		}
		all = append(all, Fact{Name: "Link ceiling", Value: value})
	}
	return append(all, Fact{Name: "Version", Value: "gpurun " + cmp.Or(r.Version, "unknown")}, Command(r.Command))
}

// device describes the first device.
func device(d cudart.Info) Fact {
	text := fmt.Sprintf("compute capability %d.%d, %d multiprocessors", d.Major, d.Minor, d.SMs)
	if d.Driver != "" {
		text += ", driver " + d.Driver
	}
	return Fact{Name: "Device 0", Value: text}
}

// Command is the fact of a command line, as a shell reads it.
func Command(arguments []string) Fact {
	quoted := make([]string, len(arguments))
	for i, word := range arguments {
		if i == 0 {
			word = word[strings.LastIndexByte(word, '/')+1:]
		}
		quoted[i] = word
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$`*?[]{}()<>|&;#~!") {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return Fact{Name: "Command", Value: strings.Join(quoted, " "), Code: true}
}
