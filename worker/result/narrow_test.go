package result

import (
	"bytes"
	"strings"
	"testing"
)

// On a terminal of 80 columns a row fits, with all its times. On a wide one the table is that of a pipe.
func TestTableFitsTheTerminal(t *testing.T) {
	print := func(r Renderer) string {
		report := passed()
		if err := r.Begin(report); err != nil {
			t.Fatal(err)
		}
		for _, x := range report.Results {
			if err := r.Add(x); err != nil {
				t.Fatal(err)
			}
		}
		return ""
	}
	var narrow, wide, pipe bytes.Buffer
	print(NewTable(&narrow, 80))
	print(NewTable(&wide, tableWidth))
	print(&table{w: &pipe})
	if wide.String() != pipe.String() {
		t.Errorf("on a wide terminal:\n%s\nwant:\n%s", &wide, &pipe)
	}
	rows := func(text string) (all [][]string, widest int) {
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") || strings.HasPrefix(line, "#       size") {
				all, widest = append(all, strings.Fields(line)), max(widest, len(strings.TrimRight(line, " \n")))
			}
		}
		return all, widest
	}
	short, n := rows(narrow.String())
	full, m := rows(wide.String())
	if len(short) < 3 || len(short) != len(full) || n > 80 || m != tableWidth {
		t.Fatalf("%d and %d rows of %d and %d characters, want %d:\n%s", len(short), len(full), n, m, tableWidth, &narrow)
	}
	for i := range short {
		last := len(full[i]) - 8 // times, rates and wrong elements, twice
		if last < 0 || strings.Join(short[i][len(short[i])-8:], " ") != strings.Join(full[i][last:], " ") {
			t.Errorf("%q, want the end of %q", short[i], full[i])
		}
	}
}

// So does a row of products: the comment above it has the size and the type.
func TestProductTableFitsTheTerminal(t *testing.T) {
	print := func(r Renderer) {
		report := multiplied()
		if err := r.Begin(report); err != nil {
			t.Fatal(err)
		}
		for _, x := range report.Results {
			if err := r.Add(x); err != nil {
				t.Fatal(err)
			}
		}
	}
	var narrow, wide, pipe bytes.Buffer
	print(NewProductTable(&narrow, 80))
	print(NewProductTable(&wide, productTableWidth))
	print(NewProductTable(&pipe, 0))
	if wide.String() != pipe.String() {
		t.Errorf("on a wide terminal:\n%s\nwant:\n%s", &wide, &pipe)
	}
	for _, table := range []struct {
		text  string
		width int
	}{{narrow.String(), 80}, {wide.String(), productTableWidth}} {
		for line := range strings.Lines(table.text) {
			if line = strings.TrimRight(line, " \n"); len(line) > table.width && !strings.Contains(line, "Rank") {
				t.Errorf("%d characters: %s", len(line), line)
			}
		}
	}
	const heading = "# allgather-matmul bfloat16, 4096 x 6656 x 16384\n  auto (naive)"
	if strings.Count(narrow.String(), heading) != 1 || !strings.Contains(narrow.String(), "\n  fused/4 ") {
		t.Errorf("%s", &narrow)
	}
}
