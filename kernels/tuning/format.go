package tuning

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// Format writes a table in the format of [Parse]. Below the table it writes the table's samples as comments, the
// fastest first.
func Format(t Table, samples []Sample) ([]byte, error) {
	text, err := toml.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("writing the tuning table: %w", err)
	}
	var b bytes.Buffer
	b.WriteString("# What \"gpurun tune\" measured; --tuning FILE makes the algorithm auto go by it.\n\n")
	b.Write(text)
	b.WriteString("\n# The medians, in us: collective, ranks, size: algorithm/blocks time.\n")
	for _, size := range groupBy(samples, func(a, b Sample) int {
		return cmp.Or(cmp.Compare(a.Collective, b.Collective), cmp.Compare(a.World, b.World),
			cmp.Compare(a.Epilogue, b.Epilogue), cmp.Compare(a.Hidden, b.Hidden), cmp.Compare(a.Bytes, b.Bytes))
	}) {
		slices.SortStableFunc(size, func(a, b Sample) int { return cmp.Compare(a.Micros, b.Micros) })
		s := size[0]
		fmt.Fprintf(&b, "# %s %d %s:", s.Calls(), s.World, Size(s.Bytes))
		for _, s := range size {
			fmt.Fprintf(&b, " %s/%d %.2f", s.Algorithm, s.Blocks, s.Micros)
		}
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}
