package checkreport

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/terminal"
)

// Write writes the report for people: a row for each algorithm, the findings, and the verdict.
func Write(out io.Writer, r Report) error {
	w := new(strings.Builder)
	table := tableOf(r, false)
	if widest := widestLine(table); terminal.TextWidth(out, widest) < widest {
		table = tableOf(r, true)
	}
	w.WriteString(table)
	writeFindings(w, r)
	if len(r.Incomplete) > 0 {
		fmt.Fprintf(w, "\nnot checked:\n")
		for _, line := range shortened(r.Incomplete) {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	if len(r.Suppressed) > 0 {
		fmt.Fprintf(w, "\n%s:\n", suggest.Count(len(r.Suppressed), "finding is suppressed", "findings are suppressed"))
		for _, s := range r.Suppressed {
			fmt.Fprintf(w, "  %s: %s\n", s.Message(), s.Reason)
		}
	}
	fmt.Fprintf(w, "\n%s\n%s", r.Summary(), r.exitLine())
	return terminal.WriteText(out, w.String())
}

// tableOf has a row for each algorithm. The narrow table has fewer columns, and the name last, where a terminal can
// break it.
func tableOf(r Report, narrow bool) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if narrow {
		fmt.Fprintln(t, "RANKS\tSIZES\tSCHEDULES\tFOUND\tALGORITHM")
	} else {
		fmt.Fprintln(t, "ALGORITHM\tRANKS\tSIZES\tSCHEDULES\tBEHAVIORS\tPAIRS\tIN BOTH ORDERS\tFOUND")
	}
	for _, row := range rowsOf(r.Cases) {
		ranks := strings.Join(row.ranks, ",")
		if narrow {
			fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\n", ranks, row.sizes, row.schedules, r.found(row), row.name)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", row.name, ranks, row.sizes, row.schedules, row.behaviors,
			row.coverage(), r.found(row))
	}
	t.Flush() // to memory
	return b.String()
}

// widestLine is the number of characters in the longest line.
func widestLine(text string) (width int) {
	for line := range strings.Lines(text) {
		width = max(width, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return width
}

// exitLine says what the exit code means: a signal has its own.
func (r *Report) exitLine() string {
	if r.ExitCode > 128 {
		return fmt.Sprintf("exit code %d: a signal ended the check\n", r.ExitCode)
	}
	return exitText[r.Verdict]
}

// exitText says what the exit code means, behind the summary.
var exitText = map[string]string{
	Findings:   "exit code 1: the kernels have mistakes\n",
	Deadlock:   "exit code 4: in some schedules nothing can go on\n",
	Incomplete: "exit code 7: not everything was checked\n",
}

// shortened are the first lines of each subject, which is what stands before a colon.
func shortened(lines []string) (short []string) {
	const most = 3
	seen := map[string]int{}
	var order []string
	for _, line := range lines {
		subject, _, _ := strings.Cut(line, ":")
		if seen[subject] == 0 {
			order = append(order, subject)
		}
		if seen[subject]++; seen[subject] <= most {
			short = append(short, line)
		}
	}
	for _, subject := range order {
		if more := seen[subject] - most; more > 0 {
			short = append(short, fmt.Sprintf("%s: %d more, which --json lists", subject, more))
		}
	}
	return short
}

// row is an algorithm among several numbers of ranks.
type row struct {
	name                                           string
	ranks                                          []string
	sizes, schedules, behaviors, pairs, bothOrders int
	findings                                       []int
	incomplete                                     bool
}

func rowsOf(cases []Case) (rows []row) {
	for _, c := range cases {
		name, _, _ := strings.Cut(c.Name(), ",")
		i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
		if i < 0 {
			i = len(rows)
			rows = append(rows, row{name: name})
		}
		r := &rows[i]
		r.ranks = append(r.ranks, fmt.Sprint(c.Ranks))
		r.sizes = max(r.sizes, len(c.Sizes)+len(c.Matrices))
		r.schedules, r.behaviors = r.schedules+c.Schedules, r.behaviors+c.Behaviors
		r.pairs, r.bothOrders = r.pairs+c.Pairs, r.bothOrders+c.BothOrders
		r.incomplete = r.incomplete || len(c.Incomplete) > 0
		r.findings = append(r.findings, c.Findings...)
	}
	return rows
}

// coverage is how many pairs were seen in both orders; "-" where nothing is known of pairs.
func (r row) coverage() string {
	if r.pairs == 0 {
		return "-\t-"
	}
	return fmt.Sprintf("%d\t%d", r.pairs, r.bothOrders)
}

// found says how many causes the findings of a row have.
func (r Report) found(of row) string {
	causes := r.causesOf(of.findings)
	switch {
	case causes.findings > 0 || causes.notes > 0 && !of.incomplete:
		return causes.String()
	case of.incomplete:
		return "incomplete"
	}
	return "nothing"
}

// Summary is the verdict in one line, with what was covered.
func (r Report) Summary() string {
	schedules, sizes, blocks, ended := 0, 0, 0, 0
	for _, c := range r.Cases {
		schedules, sizes = schedules+c.Schedules, max(sizes, len(c.Sizes)+len(c.Matrices))
		blocks, ended = blocks+c.Blocks, ended+c.BlocksEnded
	}
	covered := fmt.Sprintf("%s, %d of %s, %s, %s of %s", suggest.Count(len(rowsOf(r.Cases)), "algorithm", "algorithms"),
		ended, suggest.Count(blocks, "block", "blocks"), suggest.Count(sizes, "size", "sizes"),
		suggest.Count(schedules, "schedule", "schedules"), ranksOf(r.Cases))
	text, found := strings.ToUpper(r.Verdict)+": ", r.all()
	if found != (causes{}) {
		text += found.String() + "; "
	}
	switch {
	case found.findings > 0:
	case r.Verdict == Clean && r.complete():
		covered += "; every order of strong accesses"
	case r.Verdict == Clean && slices.ContainsFunc(r.Cases, func(c Case) bool { return c.Settled }):
		covered += ", the last ones without a new order; not a proof"
	case r.Verdict == Clean:
		covered += "; not a proof"
	}
	return text + covered
}

// complete reports whether no case was sampled.
func (r Report) complete() bool {
	return len(r.Cases) > 0 && !slices.ContainsFunc(r.Cases, func(c Case) bool { return !c.Complete })
}

// ranksOf reads "2, 3 and 4 ranks": those of some cases.
func ranksOf(cases []Case) string {
	var ranks []int
	for _, c := range cases {
		if !slices.Contains(ranks, c.Ranks) {
			ranks = append(ranks, c.Ranks)
		}
	}
	slices.Sort(ranks)
	var words []string
	for _, n := range ranks {
		words = append(words, fmt.Sprint(n))
	}
	switch n := len(words); {
	case n == 0:
		return "no ranks"
	case n > 1:
		words = append(words[:n-2], words[n-2]+" and "+words[n-1])
	case words[0] == "1":
		return "1 rank"
	}
	return strings.Join(words, ", ") + " ranks"
}
