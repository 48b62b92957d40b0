package result

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// flatColumns are the columns of the formats with one line a result. Units are
// those of the JSON format.
func flatColumns() []string {
	return []string{
		"collective", "algorithm", "blocks", "dtype", "op", "root", "epilogue", "bytes", "count", "in_place", "mode", "wrong",
		"min_us", "p50_us", "p95_us", "p99_us", "max_us", "slowest_rank", "algbw", "busbw",
	}
}

// flat returns a result's values in the order of flatColumns. The value of "wrong" is
// empty for a result that was not verified.
func flat(r Result) []string {
	integer := func(n int64) string { return strconv.FormatInt(n, 10) }
	decimal := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	wrong := ""
	if r.Wrong != nil {
		wrong = integer(*r.Wrong)
	}
	return []string{
		r.Collective, r.Algorithm, strconv.Itoa(r.Blocks), r.DType, r.Op, strconv.Itoa(r.Root), r.Epilogue, integer(r.Bytes),
		integer(r.Count),
		strconv.FormatBool(r.InPlace), r.Mode, wrong,
		decimal(r.Time.Min), decimal(r.Time.P50), decimal(r.Time.P95), decimal(r.Time.P99), decimal(r.Time.Max),
		strconv.Itoa(r.SlowestRank), decimal(r.AlgBW), decimal(r.BusBW),
	}
}

// csvLines prints comma-separated values (RFC 4180, but with bare newlines).
type csvLines struct{ w *csv.Writer }

func newCSV(w io.Writer) csvLines { return csvLines{csv.NewWriter(w)} }

func (c csvLines) Begin(Report) error { return c.line(flatColumns()) }
func (c csvLines) Add(r Result) error { return c.line(flat(r)) }
func (c csvLines) End(Report) error   { return nil }

func (c csvLines) line(values []string) error {
	if err := c.w.Write(values); err != nil {
		return err
	}
	c.w.Flush()
	return c.w.Error()
}

// markdown prints a GitHub table and, below it, the verdict.
type markdown struct{ w io.Writer }

func (m *markdown) Begin(Report) error { return m.heading(flatColumns()) }

// heading prints the names of columns, and the rule below them.
func (m *markdown) heading(names []string) error {
	rule := make([]string, len(names))
	for i := range rule {
		rule[i] = "---"
	}
	if err := m.line(names); err != nil {
		return err
	}
	return m.line(rule)
}

func (m *markdown) Add(r Result) error { return m.line(flat(r)) }

func (m *markdown) End(r Report) error {
	verdict := "passed"
	if !r.Passed {
		verdict = fmt.Sprintf("**failed** (exit code %d)", r.ExitCode)
	}
	if r.Further != nil {
		verdict += "; " + r.Further.String()
	}
	if used := algorithms(r); used != "" {
		verdict += ": " + used
	}
	_, err := fmt.Fprintf(m.w, "\n%s\n", verdict)
	return err
}

func (m *markdown) line(values []string) error {
	_, err := fmt.Fprintf(m.w, "| %s |\n", strings.Join(values, " | "))
	return err
}
