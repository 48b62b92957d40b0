package bench

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gpurun/worker/result"
)

// column is a column of a table, or of a markdown table.
type column struct {
	title string
	width int
	left  bool
	cell  func(r row) string
}

// columns are those of results that are compared with the series against. host adds the
// column of the host's time.
func columns(against string, host bool) []column {
	all := allColumns(against)
	if !host {
		all = slices.DeleteFunc(all, func(c column) bool { return c.title == "host us" })
	}
	return all
}

func allColumns(against string) []column {
	micros := func(value func(r row) float64) func(r row) string {
		return func(r row) string { return fmt.Sprintf("%.2f", value(r)) }
	}
	versus := "vs " + against
	return []column{
		{"size", 8, false, func(r row) string { return result.FormatSize(r.Bytes) }},
		{"algorithm", 24, true, func(r row) string { return label(r.Result) }},
		{"median us", 11, false, micros(func(r row) float64 { return r.Median })},
		{"± 95%", 7, false, row.spread},
		{"min us", 11, false, micros(func(r row) float64 { return r.Summary.Min })},
		{"max us", 11, false, micros(func(r row) float64 { return r.Summary.Max })},
		{"host us", 8, false, func(r row) string { return orDash(r.OnHost > 0, "%.2f", r.OnHost) }},
		{"busbw GB/s", 10, false, func(r row) string { return orDash(r.BusBW > 0, "%.4g", r.BusBW) }},
		{"% of link", 9, false, func(r row) string { return orDash(r.linkShare > 0, "%.1f%%", 100*r.linkShare) }},
		{versus, max(9, utf8.RuneCountInString(versus)), false, row.versus},
		{"outliers", 8, false, func(r row) string { return orDash(r.Outliers > 0, "%d", r.Outliers) }},
		{"", 0, true, row.verdict},
	}
}

// productColumns are those of products of matrices, whose size stands in the heading.
func productColumns(against string, host bool) []column {
	all := slices.Delete(columns(against, host), 0, 1)
	for i := range all {
		if all[i].title == "busbw GB/s" {
			all[i] = column{
				"TFLOP/s", 10, false, func(r row) string { return orDash(r.Product.TFLOPS > 0, "%.4g", r.Product.TFLOPS) },
			}
		}
	}
	return slices.DeleteFunc(all, func(c column) bool { return c.title == "% of link" })
}

func orDash(known bool, format string, value any) string {
	if !known {
		return "-"
	}
	return fmt.Sprintf(format, value)
}

// titles are the names of the columns.
func titles(columns []column) []string {
	var words []string
	for _, c := range columns {
		words = append(words, c.title)
	}
	return words
}

// cells are a row's values.
func cells(columns []column, r row) []string {
	var words []string
	for _, c := range columns {
		words = append(words, c.cell(r))
	}
	return words
}

// columnGap stands in front of each column.
const columnGap = "  "

// align pads words to the width of their columns.
func align(columns []column, words []string) string {
	var b strings.Builder
	for i, c := range columns {
		gap := strings.Repeat(" ", max(0, c.width-utf8.RuneCountInString(words[i])))
		if c.left {
			b.WriteString(columnGap + words[i] + gap)
		} else {
			b.WriteString(columnGap + gap + words[i])
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// markdownLine is a line of a Markdown table.
func markdownLine(words []string) string { return "| " + strings.Join(words, " | ") + " |" }

// markdownRule is the line below the titles. It aligns numbers on the right.
func markdownRule(columns []column) string {
	var words []string
	for _, c := range columns {
		word := "---:"
		if c.left {
			word = "---"
		}
		words = append(words, word)
	}
	return markdownLine(words)
}
