package mutants

import (
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

// made is how many mutants of a row calls get to.
func made(counts map[verdict]int) (n int) {
	for v, count := range counts {
		if v != unreached {
			n += count
		}
	}
	return n
}

// columns are the verdicts that may have one.
var columns = []verdict{
	killed, byResult, noted, equivalent, missed, otherCause, wrongResult, incomplete, refused, unreached,
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
	fmt.Fprintf(&b, "| %s | made |", first)
	for _, v := range t.used() {
		fmt.Fprintf(&b, " %s |", v)
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(t.used())+1) + "\n")
	for _, row := range t.rows {
		fmt.Fprintf(&b, "| %s | %d |", row, made(t.counts[row]))
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
	n, by := made(total), total[killed]+total[byResult]
	mistakes := n - total[equivalent]
	fmt.Fprintf(&b, introduction, n, total[killed], total[byResult], total[noted], total[equivalent],
		total[missed]+total[otherCause]+total[wrongResult]+total[incomplete],
		by, mistakes-total[noted], percent(by, mistakes-total[noted]),
		by+total[noted], mistakes, percent(by+total[noted], mistakes), pairShare, productShare)
	b.WriteString("\n## By class\n\n" + byClass.markdown("class"))
	b.WriteString("\n## By kernel\n\n" + byKernel.markdown("kernel"))
	b.WriteString("\n## What is not killed with the right cause\n\n" +
		"| verdict | class | mutants | kernels | line | why |\n" +
		"|---|---|---:|---|---|---|\n")
	for _, e := range explanations {
		if len(e.found) > 0 {
			fmt.Fprintf(&b, "| %s | %s | %d | %s | `%s` | %s |\n", e.found[0].verdict, e.Class, len(e.found), kernelsIn(e.found),
				cell(e.found[0].Was), e.Why)
		}
	}
	pending := slices.DeleteFunc(slices.Clone(records), func(k *record) bool { return k.Pending == "" })
	if len(pending) > 0 {
		b.WriteString("\n## Kernels that are not judged\n\n")
		for _, k := range pending {
			fmt.Fprintf(&b, "- %s: %s\n", k.Kernel, k.Pending)
		}
	}
	return b.String()
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

const introduction = `# What gpurun check finds of planted mistakes

Package [mutate](../cudart/sim/check/mutate) plants mistakes of synchronization, one at a time, in the PTX of the
kernels that ship and of the examples. The race checker then runs each mutant under up to 6 schedules, of the strategies
random, late, pct and bounded. What survives them is run under 24 more, and then in calls in which one rank never comes,
so that waits expire. Of kernels with bulk copies, half of the schedules have buffers that are not aligned; of products,
half have more tiles than blocks, and none has more than 6 schedules. This page is written by

    GPURUN_MUTANTS=all go test -timeout 90m ./kernels/mutants -update

With a regular expression for rows of the second table in place of all, the rows of these kernels are made again.

Calls get to %d mistakes. Of these %d have a finding with the right cause that names the lines or the commands that took
part, %d a wrong result where none else can be, and %d a note: PTX forbids them, and current GPUs do not show them. %d are
equivalent: other orders of the kernel make them harmless. %d are missed. The table at the end says why.

| model | killed | mistakes | share |
|---|---:|---:|---:|
| hardware: mistakes are the mutants that are not equivalent and have no mere note | %d | %d | %s |
| ptx: mistakes are the mutants that are not equivalent | %d | %d | %s |

Of kernels for two ranks alone, one mutant in %d is run, and of fused products one in %d.

- made: the mutants whose line some call gets to. Of the others, most are in code that runs when a wait has timed out.
  They are not judged, but for those in the load of the word by which threads tell one another about that.
- killed: by a finding of a kind and a cause that the class expects, under the model of the hardware. A deadlock names
  the wait, its word and who has written it.
- by result: a wrong result with rank, call and element, in classes about packets and mailboxes, counts of calls, resets
  and stores. Packets are read and written by strong accesses alone, which do not race, and no other word says when one has
  come.
- note: such a finding under --model ptx alone.
- other cause: a finding, but not of the cause or the line that the class demands.
- result only: a wrong result, a time-out of the kernel's own, or a wait without an end. No lines are named.
`
