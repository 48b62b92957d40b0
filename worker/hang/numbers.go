package hang

import (
	"fmt"
	"strings"
)

// numbered reads "rank 2", "ranks 0 and 2", or "blocks 0-3, 7 and 9". The numbers ascend.
func numbered(noun string, numbers []int) string {
	var runs []string
	for i := 0; i < len(numbers); {
		end := i + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		switch end - i {
		case 1, 2:
			for _, n := range numbers[i:end] {
				runs = append(runs, fmt.Sprint(n))
			}
		default:
			runs = append(runs, fmt.Sprintf("%d-%d", numbers[i], numbers[end-1]))
		}
		i = end
	}
	text := plural(len(numbers), noun, noun+"s") + " "
	if last := len(runs) - 1; last > 0 {
		return text + strings.Join(runs[:last], ", ") + " and " + runs[last]
	}
	return text + strings.Join(runs, "")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
