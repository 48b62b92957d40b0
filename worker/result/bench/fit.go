package bench

import "slices"

// dispensable are the titles of columns that a narrow table leaves out, the first one first. The results as JSON have
// all.
var dispensable = []string{"outliers", "max us", "min us", "host us", "% of link"}

// Widths of a narrow table. Its last line names the series that ratios are relative to.
const (
	narrowMicros = len("median us") // up to 999999.99
	narrowVersus = "vs base"
)

// fit makes a table that is at most width characters wide, as far as that is possible. It leaves out columns, and
// then narrows others. A width of 0 is any width.
func fit(all []column, width int) []column {
	all = slices.Clone(all)
	for _, title := range dispensable {
		if width == 0 || widthOf(all) <= width {
			return all
		}
		all = slices.DeleteFunc(all, func(c column) bool { return c.title == title })
	}
	if widthOf(all) <= width {
		return all
	}
	for i, c := range all {
		switch {
		case c.title == "median us":
			all[i].width = narrowMicros
		case len(c.title) > 3 && c.title[:3] == "vs ":
			all[i].title, all[i].width = narrowVersus, len(narrowVersus)+2 // "~ 10.00x"
		}
	}
	return all
}

// widthOf is the number of characters in a line of the table. The last column is empty, but for results without a
// verdict.
func widthOf(columns []column) (width int) {
	for _, c := range columns {
		if c.title != "" {
			width += len(columnGap) + c.width
		}
	}
	return width
}
