package result

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These tests read the table as programs do that were written for nccl-tests.

// scrapedRow is what such programs take from a row.
type scrapedRow struct {
	size                  int64
	outOfPlace, inPlaceBW float64
}

// rowPattern is a row as a strict program would describe it.
var rowPattern = regexp.MustCompile(`^\s+(\d+)\s+(\d+)\s+(\w+)\s+(\w+)\s+(-?\d+)` +
	`\s+([\d.e+]+)\s+([\d.e+]+)\s+([\d.e+]+)\s+(\d+|N/A)` +
	`(\s+([\d.e+]+)\s+([\d.e+]+)\s+([\d.e+]+)\s+(\d+|N/A)|(\s+N/A){4})$`)

func TestRowsMatchStrictPattern(t *testing.T) {
	for _, line := range append(lines(t, passed()), lines(t, alone())...) {
		if !strings.HasPrefix(line, "#") && !rowPattern.MatchString(line) {
			t.Errorf("a line is neither a comment nor a row: %q", line)
		}
	}
}

// TestScrapeByHeader finds the columns by the header's words, counted from the
// end, and takes every line that begins with a number.
func TestScrapeByHeader(t *testing.T) {
	var busBW, size int
	var rows []scrapedRow
	for _, line := range lines(t, passed()) {
		words := strings.Fields(line)
		if len(words) > 2 && words[0] == "#" && words[1] == "size" {
			header := words[1:]
			size, busBW = index(header, "size"), index(header, "busbw")-len(header)
			continue
		}
		if len(words) == 0 || !regexp.MustCompile(`^\d+`).MatchString(words[0]) {
			continue
		}
		bytes, err := strconv.ParseInt(words[size], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, scrapedRow{bytes, number(t, words[len(words)+busBW]), number(t, words[len(words)-2])})
	}
	want := []scrapedRow{{1024, 0.15, 0.16}, {1 << 20, 8.5, 8.7}, {64 << 20, 543.21, 12346}}
	if diff := cmp.Diff(want, rows, cmp.AllowUnexported(scrapedRow{})); diff != "" {
		t.Error(diff)
	}
}

// TestScrapeFooter reads the verdict and the average.
func TestScrapeFooter(t *testing.T) {
	verdict := regexp.MustCompile(`(?m)^# Out of bounds values : (\d+) (OK|FAILED)$`)
	average := regexp.MustCompile(`(?m)^# Avg bus bandwidth\s+:\s+(\d+\.?\d*)`)
	for _, c := range []struct {
		run              Report
		verdict, average string
	}{
		{passed(), "0 OK", "2151.05"},
		{wrong(), "1 FAILED", "4.3775"},
		{broken(), "", ""},
		{early(), "", ""},
	} {
		text := string(render(t, TableFormat, c.run))
		if got := strings.TrimPrefix(verdict.FindString(text), "# Out of bounds values : "); got != c.verdict {
			t.Errorf("verdict %q, want %q", got, c.verdict)
		}
		got := ""
		if m := average.FindStringSubmatch(text); m != nil {
			got = m[1]
		}
		if got != c.average {
			t.Errorf("average %q, want %q", got, c.average)
		}
	}
}

// TestHeaderIsThatOfNCCLTests compares with the format strings of
// writeResultHeader in nccl-tests' src/util.cu, filled in by hand.
func TestHeaderIsThatOfNCCLTests(t *testing.T) {
	want := "#" + blanks(62) + "out-of-place" + blanks(23) + "in-place" + blanks(10) + "\n" +
		"# " + right("size", 10) + "  " + right("count", 12) + "  " + right("type", 8) + "  " + right("redop", 6) + "  " +
		right("root", 6) +
		group("time", "algbw", "busbw", "#wrong") + group("time", "algbw", "busbw", "#wrong") + " \n" +
		"# " + right("(B)", 10) + "  " + right("(elements)", 12) + "  " + right("", 8) + "  " + right("", 6) + "  " +
		right("", 6) +
		group("(us)", "(GB/s)", "(GB/s)", "") + group("(us)", "(GB/s)", "(GB/s)", "") + " \n"
	if diff := cmp.Diff("#\n"+want, tableHeader); diff != "" {
		t.Error(diff)
	}
}

func group(time, algbw, busbw, wrong string) string {
	return "  " + right(time, 7) + "  " + right(algbw, 6) + "  " + right(busbw, 6) + "  " + right(wrong, 6)
}

func right(s string, width int) string { return blanks(width-len(s)) + s }

func blanks(n int) string { return strings.Repeat(" ", n) }

func lines(t *testing.T, r Report) []string {
	return strings.Split(strings.TrimSuffix(string(render(t, TableFormat, r)), "\n"), "\n")
}

func index(words []string, word string) int {
	for i, w := range words {
		if w == word {
			return i
		}
	}
	return -1
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
