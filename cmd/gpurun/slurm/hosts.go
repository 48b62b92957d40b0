package slurm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxHosts is how many hosts a list may have; Slurm's own bound of a range.
const maxHosts = 1 << 16

// Hosts expands a list of hosts as Slurm writes it. Names are separated by commas,
// and "[01-03,7]" in a name stands for each of these numbers, with as many
// zeros before them as the first of a range has. With several brackets in a
// name the last varies fastest: "a[1-2]b[3-4]" is a1b3, a1b4, a2b3, a2b4.
func Hosts(list string) ([]string, error) {
	var hosts []string
	for rest := list; ; {
		name, more, err := cutName(rest)
		if err == nil {
			hosts, err = appendHosts(hosts, name)
		}
		if err != nil {
			return nil, fmt.Errorf("%.100q is not a list of hosts: %w", list, err)
		}
		if more == "" {
			return hosts, nil
		}
		rest = more[1:]
	}
}

// cutName splits a list at the first comma outside brackets; more begins with it.
func cutName(list string) (name, more string, err error) {
	inside := false
	for i, c := range list {
		switch {
		case c == '[' && inside:
			return "", "", errors.New("a bracket is within another")
		case c == ']' && !inside:
			return "", "", errors.New("a bracket is closed that was not opened")
		case c == '[', c == ']':
			inside = !inside
		case c == ',' && !inside:
			return list[:i], list[i:], nil
		case c <= ' ' || c > '~':
			return "", "", fmt.Errorf("there is %q in it", c)
		}
	}
	if inside {
		return "", "", errors.New("a bracket is not closed")
	}
	return list, "", nil
}

// appendHosts appends what a name with brackets stands for.
func appendHosts(hosts []string, name string) ([]string, error) {
	if name == "" {
		return nil, errors.New("a name is empty")
	}
	expanded := []string{""}
	for name != "" {
		text, rest, bracketed := strings.Cut(name, "[")
		numbers := []string{""}
		if bracketed {
			var inner string
			inner, rest, _ = strings.Cut(rest, "]") // cutName has seen that it is there
			var err error
			if numbers, err = parseNumbers(inner); err != nil {
				return nil, err
			}
		}
		if len(hosts)+len(expanded)*len(numbers) > maxHosts {
			return nil, fmt.Errorf("it has more than %d hosts", maxHosts)
		}
		longer := make([]string, 0, len(expanded)*len(numbers))
		for _, prefix := range expanded {
			for _, number := range numbers {
				longer = append(longer, prefix+text+number)
			}
		}
		expanded, name = longer, rest
	}
	return append(hosts, expanded...), nil
}

// parseNumbers reads what stands in brackets: "01-03,7".
func parseNumbers(text string) ([]string, error) {
	var numbers []string
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, fromErr := strconv.ParseUint(first, 10, 32)
		to, toErr := strconv.ParseUint(last, 10, 32)
		if fromErr != nil || toErr != nil || to < from {
			return nil, fmt.Errorf("%.100q is neither a number nor a range of them", part)
		}
		if to-from >= maxHosts || len(numbers)+int(to-from) >= maxHosts {
			return nil, fmt.Errorf("it has more than %d hosts", maxHosts)
		}
		for n := from; n <= to; n++ {
			numbers = append(numbers, fmt.Sprintf("%0*d", len(first), n))
		}
	}
	return numbers, nil
}
