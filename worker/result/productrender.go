package result

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// NewProductRenderer makes the renderer that prints a format of results about products
// of matrices to w. JSON is as for all results.
func NewProductRenderer(format Format, w io.Writer) (Renderer, error) {
	switch format {
	case TableFormat:
		return NewProductTable(w, 0), nil
	case CSVFormat:
		return productCSV{newCSV(w)}, nil
	case MarkdownFormat:
		return &productMarkdown{markdown{w}}, nil
	}
	return NewRenderer(format, w)
}

// NewProductTable makes the renderer of [TableFormat] for products, on a terminal with so many columns; 0 is any
// number. Where a row would not fit, the comment above it names the size and the type.
func NewProductTable(w io.Writer, width int) Renderer {
	return &productTable{w: w, narrow: width > 0 && width < productTableWidth}
}

// productTable prints a line a result. Every line that is not a row begins with '#'.
type productTable struct {
	w      io.Writer
	narrow bool
	group  string // of the row before
}

// productTableWidth is the number of characters in a row.
const productTableWidth = 111

const productHeader = "" +
	"#\n" +
	"#        M         N         K      type  algorithm               time    min    max  TFLOP/s     error  #wrong\n" +
	"#                                                                 (us)   (us)   (us) per rank  relative        \n"

// narrowProductHeader is [productHeader] without the size and the type.
const narrowProductHeader = "" +
	"#\n" +
	"# algorithm               time    min    max  TFLOP/s     error  #wrong\n" +
	"#                         (us)   (us)   (us) per rank  relative\n"

func (t *productTable) Begin(r Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# gpurun version %s\n# Using devices\n", r.Version)
	for rank, d := range r.Devices {
		fmt.Fprintf(&b, "#  Rank %2d device %2d [%s] %s\n", rank, d.Ordinal, location(d), d.Name)
	}
	if t.narrow {
		b.WriteString(narrowProductHeader)
	} else {
		b.WriteString(productHeader)
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

func (t *productTable) Add(r Result) error {
	if r.Product == nil {
		return fmt.Errorf("printing %s: it is no product", r)
	}
	var b strings.Builder
	p, wrong := r.Product, notAvailable
	group := r.Collective
	if t.narrow {
		group = fmt.Sprintf("%s %s, %s", r.Collective, r.DType, p)
	}
	if group != t.group {
		t.group = group
		fmt.Fprintf(&b, "# %s\n", t.group)
	}
	if r.Wrong != nil {
		wrong = strconv.FormatInt(*r.Wrong, 10)
	}
	times := [4]string{fit(r.Time.P50, 10), fit(r.Time.Min, 6), fit(r.Time.Max, 6), fit(p.TFLOPS, 8)}
	if r.Untimed {
		times = [4]string{notAvailable, notAvailable, notAvailable, notAvailable}
	}
	if !t.narrow {
		fmt.Fprintf(&b, "%10d%10d%10d%10s", p.M, p.N, p.K, r.DType)
	}
	fmt.Fprintf(&b, "  %-18s%10s%7s%7s%9s%10s%8s\n", p.Label(r),
		times[0], times[1], times[2], times[3], p.relativeError(), wrong)
	_, err := io.WriteString(t.w, b.String())
	return err
}

// relativeError is that of random inputs, or N/A.
func (p Product) relativeError() string {
	if p.Error == nil {
		return notAvailable
	}
	return fmt.Sprintf("%.1e", *p.Error)
}

func (t *productTable) End(r Report) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "# %-20s : %s\n", name, fmt.Sprintf(format, args...))
	}
	switch wrong := failedResults(r.Results); {
	case wrong > 0:
		line("Out of bounds values", "%d FAILED", wrong)
	case r.Passed:
		line("Out of bounds values", "%s", noneWrong(r.Results))
	}
	if r.Further != nil {
		line("Further calls", "%s", r.Further)
	}
	if r.Memory != nil {
		line("Memory", "%s (%s)", r.Memory.Backend, r.Memory.Why)
	}
	if r.Failure != "" {
		line("Run ended early", "exit code %d", r.ExitCode)
	}
	b.WriteString("#\n")
	_, err := io.WriteString(t.w, b.String())
	return err
}

// productColumns are the columns of the formats with one line a result. Units are those
// of the JSON format.
func productColumns() []string {
	return []string{
		"operation", "algorithm", "m", "n", "k", "dtype", "splits_per_rank", "wrong", "relative_error",
		"min_us", "p50_us", "p95_us", "p99_us", "max_us", "slowest_rank", "tflops",
	}
}

// flatProduct returns a result's values in the order of productColumns. "wrong" and
// "relative_error" are empty for a result that was not verified.
func flatProduct(r Result) []string {
	p := r.Product
	if p == nil {
		p = new(Product)
	}
	integer := func(n int64) string { return strconv.FormatInt(n, 10) }
	decimal := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	wrong, relative := "", ""
	if r.Wrong != nil {
		wrong = integer(*r.Wrong)
	}
	if p.Error != nil {
		relative = decimal(*p.Error)
	}
	return []string{
		r.Collective, r.Algorithm, integer(p.M), integer(p.N), integer(p.K), r.DType, strconv.Itoa(p.Splits), wrong, relative,
		decimal(r.Time.Min), decimal(r.Time.P50), decimal(r.Time.P95), decimal(r.Time.P99), decimal(r.Time.Max),
		strconv.Itoa(r.SlowestRank), decimal(p.TFLOPS),
	}
}

// productCSV and productMarkdown have the columns of products.
type (
	productCSV      struct{ csvLines }
	productMarkdown struct{ markdown }
)

func (c productCSV) Begin(Report) error { return c.line(productColumns()) }
func (c productCSV) Add(r Result) error { return c.line(flatProduct(r)) }

func (m *productMarkdown) Begin(Report) error { return m.heading(productColumns()) }
func (m *productMarkdown) Add(r Result) error { return m.line(flatProduct(r)) }

func (m *productMarkdown) End(r Report) error {
	verdict := "passed"
	if !r.Passed {
		verdict = fmt.Sprintf("**failed** (exit code %d)", r.ExitCode)
	}
	_, err := fmt.Fprintf(m.w, "\n%s on %s\n", verdict, r.Machines())
	return err
}
