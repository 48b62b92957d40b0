package result

import (
	"fmt"
	"io"
	"strings"
)

// Renderer prints a run as it proceeds: Begin once the devices are known,
// Add for every result as it arrives, End when the run is over. A run that failed
// before Begin has only End.
type Renderer interface {
	// Begin gets the report without its results.
	Begin(r Report) error
	Add(r Result) error
	// End gets the complete report.
	End(r Report) error
}

// Format is a form of output.
type Format string

// The formats.
const (
	TableFormat    Format = "table"    // as nccl-tests prints it
	JSONFormat     Format = "json"     // one document, at the end
	JSONLFormat    Format = "jsonl"    // a line a result, then one with the rest of the report
	CSVFormat      Format = "csv"      // a line a result, after one with the names
	MarkdownFormat Format = "markdown" // a GitHub table
)

// Formats lists the formats.
func Formats() []Format {
	return []Format{TableFormat, JSONFormat, JSONLFormat, CSVFormat, MarkdownFormat}
}

// NewRenderer makes the renderer that prints a format to w.
func NewRenderer(format Format, w io.Writer) (Renderer, error) {
	switch format {
	case TableFormat:
		return &table{w: w}, nil
	case JSONFormat:
		return jsonDocument{w}, nil
	case JSONLFormat:
		return jsonLines{w}, nil
	case CSVFormat:
		return newCSV(w), nil
	case MarkdownFormat:
		return &markdown{w: w}, nil
	}
	return nil, fmt.Errorf("there is no output format %q", format)
}

// String reads "allreduce oneshot float sum, 4096 bytes in place". A collective that moves
// no data reads "barrier flag", a product "matmul-allreduce naive half, 64 x 8 x 200".
func (r Result) String() string {
	switch {
	case r.Product != nil:
		words := fmt.Sprintf("%s, %s", r.group(), r.Product)
		if r.Product.Splits > 1 {
			words += fmt.Sprintf(" in %d splits", r.Product.Splits)
		}
		return words
	case r.DType == None:
		return r.group()
	}
	place := "out of place"
	if r.InPlace {
		place = "in place"
	}
	return fmt.Sprintf("%s, %d bytes %s", r.group(), r.Bytes, place)
}

// group names the sweep over the sizes that a result belongs to.
func (r Result) group() string {
	words := []string{r.Collective, r.Algorithm}
	if r.Library != "" {
		words = append(words, "("+r.Library+")")
	}
	for _, word := range []string{r.DType, r.Op} {
		if word != None {
			words = append(words, word)
		}
	}
	if r.Epilogue != "" {
		words = append(words, r.Epilogue)
	}
	if r.Mode != "stream" {
		words = append(words, r.Mode)
	}
	switch {
	case r.Blocks == 1:
		words = append(words, "1 block")
	case r.Blocks > 1:
		words = append(words, fmt.Sprintf("%d blocks", r.Blocks))
	}
	return strings.Join(words, " ")
}

// failedResults counts the results with wrong elements.
func failedResults(results []Result) int {
	failed := 0
	for _, r := range results {
		if r.Wrong != nil && *r.Wrong > 0 {
			failed++
		}
	}
	return failed
}
