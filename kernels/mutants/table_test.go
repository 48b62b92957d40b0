package mutants

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// tally counts verdicts by what stands in a row.
type tally struct {
	rows   []string // in order
	counts map[string]map[verdict]int
}

func (t *tally) add(row string, v verdict) {
	if t.counts == nil {
		t.counts = map[string]map[verdict]int{}
	}
	if t.counts[row] == nil {
		t.rows = append(t.rows, row)
		t.counts[row] = map[verdict]int{}
	}
	t.counts[row][v]++
}

// reached is how many mutants of a row are executed by some call.
func reached(counts map[verdict]int) (n int) {
	for v, count := range counts {
		if v != unreached {
			n += count
		}
	}
	return n
}

// columns are the verdicts that may have one.
var columns = []verdict{
	killed, byResult, noted, equivalent, harmless, missed, otherCause, wrongResult, incomplete, refused, unreached,
}

// used are the columns that are not empty.
func (t *tally) used() (some []verdict) {
	for _, v := range columns {
		if slices.ContainsFunc(t.rows, func(row string) bool { return t.counts[row][v] > 0 }) {
			some = append(some, v)
		}
	}
	return some
}

func (t *tally) markdown(first string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | reached |", first)
	for _, v := range t.used() {
		fmt.Fprintf(&b, " %s |", v.title())
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(t.used())+1) + "\n")
	for _, row := range t.rows {
		fmt.Fprintf(&b, "| %s | %d |", row, reached(t.counts[row]))
		for _, v := range t.used() {
			if n := t.counts[row][v]; n > 0 {
				fmt.Fprintf(&b, " %d |", n)
			} else {
				b.WriteString(" |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// page is docs/check-mutants.md.
func page(results []result, explanations []*explanation, records []*record) string {
	var byClass, byKernel tally
	total := map[verdict]int{}
	for _, c := range classes {
		for _, r := range results {
			if r.Class == c {
				byClass.add(string(c), r.verdict)
			}
		}
	}
	for _, r := range results {
		byKernel.add(r.row(), r.verdict)
		total[r.verdict]++
	}
	var b strings.Builder
	n, by := reached(total), total[killed]+total[byResult]
	mistakes := n - total[equivalent]
	shown := mistakes - total[noted] - total[harmless]
	fmt.Fprintf(&b, introduction, total[killed], total[byResult], total[noted], total[equivalent], total[harmless],
		total[missed]+total[otherCause]+total[wrongResult]+total[incomplete], n,
		total[killed], by, shown, percent(total[killed], shown), percent(by, shown),
		total[killed]+total[noted], by+total[noted], mistakes, percent(total[killed]+total[noted], mistakes),
		percent(by+total[noted], mistakes), pairShare, productShare)
	b.WriteString("\n## By class\n\n" + byClass.markdown("class"))
	b.WriteString("\n## By kernel\n\n" + byKernel.markdown("kernel"))
	b.WriteString("\n## Mutants that are not killed with the right cause\n\n" +
		"| outcome | class | mutants | kernels | line | reason |\n" +
		"|---|---|---:|---|---|---|\n")
	for _, e := range explanations {
		if len(e.found) > 0 {
			fmt.Fprintf(&b, "| %s | %s | %d | %s | `%s` | %s |\n", e.found[0].verdict.title(), e.Class, len(e.found),
				kernelsIn(e.found), cell(e.found[0].Was), e.Why)
		}
	}
	pending := slices.DeleteFunc(slices.Clone(records), func(k *record) bool { return k.Pending == "" })
	if len(pending) > 0 {
		b.WriteString("\n## Kernels that are not tested\n\n")
		for _, k := range pending {
			fmt.Fprintf(&b, "- %s: %s\n", k.Kernel, k.Pending)
		}
	}
	return b.String()
}

// title is what the page calls a verdict, by the terms of mutation testing.
func (v verdict) title() string {
	titles := map[verdict]string{
		byResult: "wrong result", missed: "survived", otherCause: "wrong cause", wrongResult: "no line",
	}
	return cmp.Or(titles[v], string(v))
}

func percent(part, whole int) string {
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(max(whole, 1)))
}

// cell makes text fit into a table.
func cell(text string) string { return strings.NewReplacer("|", `\|`, "\t", " ").Replace(text) }

// shortened is the name of an entry without what C++ adds.
func shortened(entry string) string {
	if name, ok := strings.CutPrefix(entry, "_Z"); ok {
		name, _, _ = strings.Cut(strings.TrimLeft(name, "0123456789"), "If")
		return name
	}
	return entry
}

// kernelsIn lists the kernels of some results: all, or the first ones.
func kernelsIn(list []result) string {
	const most = 4
	var names tally
	for _, r := range list {
		names.add(r.name, r.verdict)
	}
	if len(names.rows) > most {
		return fmt.Sprintf("%s, and %d more", strings.Join(names.rows[:most-1], ", "), len(names.rows)-most+1)
	}
	return strings.Join(names.rows, ", ")
}

const introduction = `# Mutation tests of gpurun check

A mutant is a kernel with one planted mistake of synchronization. Package [mutate](../cudart/sim/check/mutate) makes
mutants of the PTX of all shipped kernels and of the examples. The race checker runs each mutant under up to 6 schedules
of the strategies random, late, pct and bounded. A mutant that survives them runs under 24 more schedules, and then in
calls in which one rank never comes, so that waits time out. Kernels with bulk copies have unaligned buffers in half of
the schedules. Products have more tiles than blocks in half of the schedules, and at most 6 schedules.

This command runs all mutants, and writes kernels/mutants/results.json and this page:

    GPURUN_MUTANTS=all go test -timeout 90m ./kernels/mutants -update

A regular expression in place of all runs the mutants of the kernels whose rows it matches. The word none runs no
mutants, and writes the page from results.json.

| outcome | mutants |
|---|---:|
| killed by a finding with the right cause | %d |
| killed by a wrong result alone | %d |
| killed as a note, under --model ptx alone | %d |
| equivalent | %d |
| harmless: survived, and a mistake under PTX alone | %d |
| survived | %d |
| reached by a call | %d |

The mutation score is the share of killed mutants. Equivalent mutants do not count. Under the model of the hardware,
mutants with a note and harmless ones do not count either.

| model | killed with cause and lines | killed | mutants that count | with cause and lines | mutation score |
|---|---:|---:|---:|---:|---:|
| hardware | %d | %d | %d | %s | %s |
| ptx | %d | %d | %d | %s | %s |

Kernels for exactly two ranks are sampled: one mutant in %d runs. Of fused products, one in %d runs.

The columns of the tables:

- reached: mutants whose line is executed by some call. The score is about these.
- killed: a finding has the kind and the cause that the class of the mutant demands, and names the lines or commands
  that took part. A deadlock names the wait, its word and the writers of the word.
  An endless loop names a line of the loop; it counts only for waits for packets. A wrong result names the load that
  did not wait and the store that came after it, or the line of the mutant.
- wrong result: a rank's result is wrong, and the finding names rank, call and element, but not the line of the mutant.
  This counts as killed for packets, mailboxes, counts of calls, resets and stores: their strong accesses do not race.
- note: such a finding under --model ptx alone. PTX forbids what the mutant does, and current GPUs do not show it.
- equivalent: other synchronization of the kernel makes the mutant correct. The last table gives the reason.
- harmless: no finding. PTX forbids what the mutant does, and current GPUs do not show it. The last table gives the reason.
- survived: no finding. The last table gives the reason.
- wrong cause: a finding whose cause or line is not the one that the class demands. This counts as survived.
- no line: a wrong result, a time-out of the kernel, or a wait that never ends, without the lines. This counts as
  survived.
- not reached: no call executes the line. Most of these lines handle time-outs. They are not tested, except loads of the
  word by which threads tell one another of a time-out.
`
