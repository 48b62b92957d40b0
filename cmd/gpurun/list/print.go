package list

import (
	"fmt"
	"io"
	"strings"

	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/terminal"
)

// mostColumns is the width of the list, except on a narrower terminal.
const mostColumns = 100

// more says what else the list can tell.
const more = "gpurun list NAME tells more of a collective or an algorithm, and why it does not run here"

// Print writes a line for each algorithm.
func (l Listing) Print(w io.Writer) error {
	var b strings.Builder
	width := terminal.TextWidth(w, mostColumns)
	columns := []int{len("COLLECTIVE"), len("ALGORITHM"), len("CUDA"), len("SIM")}
	rows := [][]string{{"COLLECTIVE", "ALGORITHM", "CUDA", "SIM", "WHAT IT DOES"}}
	for _, x := range l.Algorithms {
		rows = append(rows, []string{x.Collective, x.Algorithm, firstWord(x.CUDA), firstWord(x.Sim), x.Summary})
	}
	for _, row := range rows {
		for i := range columns {
			columns[i] = max(columns[i], len(row[i]))
		}
	}
	for _, row := range rows {
		line := ""
		for i, n := range columns {
			line += fmt.Sprintf("%-*s  ", n, row[i])
		}
		b.WriteString(suggest.Indented(line, row[len(columns)], width))
	}
	b.WriteString("\n" + suggest.Indented("", more, width))
	b.WriteString(suggest.Indented("types: ", strings.Join(allDTypes(), ", "), width))
	if l.NoGPU != "" {
		b.WriteString(suggest.Indented("cuda: ", l.NoGPU, width))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Describe writes a paragraph about each algorithm.
func (l Listing) Describe(w io.Writer) error {
	var b strings.Builder
	width := terminal.TextWidth(w, mostColumns)
	for _, x := range l.Algorithms {
		b.WriteString(suggest.Indented(x.Collective+" "+x.Algorithm+": ", x.Summary, width))
		for _, line := range [][2]string{
			{"types", x.opsAndTypes()},
			{"epilogues", orDash(x.epilogues())},
			{"needs", strings.Join(x.needs(), ", ")},
			{"ranks", fmt.Sprintf("1-%d", x.MaxRanks)},
			{"cuda", x.CUDA},
			{"sim", x.Sim},
		} {
			text := strings.NewReplacer(",", ", ", ", ", ", ").Replace(line[1])
			b.WriteString(suggest.Indented(fmt.Sprintf("  %-11s", line[0]), text, width))
		}
		b.WriteString("\n")
	}
	b.WriteString(suggest.Indented("all types: ", strings.Join(allDTypes(), ", "), width))
	if l.NoGPU != "" {
		b.WriteString(suggest.Indented("cuda: ", l.NoGPU, width))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// firstWord is the answer without its reason: yes, no, or with, which stands for a condition.
func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if word == "with" {
		return "maybe"
	}
	return strings.TrimRight(word, ":")
}

// orDash joins words, or stands for none.
func orDash(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ",")
}
