package bench

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A table for a terminal is no wider than the terminal, and keeps what a comparison needs. Without a width it has all.
func TestTableFits(t *testing.T) {
	const against = "multimem_twoshot_with_a_long_name"
	const all = "size,algorithm,median us,± 95%,min us,max us,host us,busbw GB/s,% of link,vs " + against + ",outliers,"
	for _, c := range []struct {
		width    int
		products bool
		titles   string
	}{
		{0, false, all},
		{200, false, all},
		{150, false, "size,algorithm,median us,± 95%,min us,host us,busbw GB/s,% of link,vs " + against + ","},
		{80, false, "size,algorithm,median us,± 95%,busbw GB/s,vs base,"},
		{80, true, "algorithm,median us,± 95%,TFLOP/s,vs base,"},
	} {
		columns := columns(against, true)
		if c.products {
			columns = productColumns(against, true)
		}
		fitted := fit(columns, c.width)
		if got := strings.Join(titles(fitted), ","); got != c.titles {
			t.Errorf("%d: %s, want %s", c.width, got, c.titles)
		}
		if line := align(fitted, titles(fitted)); c.width > 0 && utf8.RuneCountInString(line) > c.width {
			t.Errorf("%d: %d characters", c.width, utf8.RuneCountInString(line))
		}
	}
	text := string(render(t, run(), Options{Against: "nccl", Width: 80}))
	for line := range strings.Lines(text) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !strings.HasPrefix(line, "# ") {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}
