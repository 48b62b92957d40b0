package slurm

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// reader reads variables and keeps the first error.
type reader struct {
	lookup func(name string) (string, bool)
	err    error
}

// inStep reports whether srun has started this process, and not as a shell on a
// terminal, of which there is only one.
func (r *reader) inStep() bool {
	return r.text(stepVariable) != "" && r.text(ptyVariable) == "" && r.number(stepVariable) < firstSpecialStep &&
		r.err == nil
}

// text is a variable's value, or "".
func (r *reader) text(name string) string {
	text, _ := r.lookup(name)
	return text
}

// number reads a variable that must be there.
func (r *reader) number(name string) int {
	return parsed(r, name, func(text string) (int, error) {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("%.100q is not a whole number from 0 to %d", text, uint32(math.MaxUint32))
		}
		return int(n), nil
	})
}

// parsed reads a variable that must be there.
func parsed[T any](r *reader, name string, parse func(string) (T, error)) (value T) {
	text := r.text(name)
	if r.err != nil {
		return value
	}
	if text == "" {
		r.err = fmt.Errorf("%s is not set, though %s is: start gpurun by srun, or %s", name, stepVariable, advice)
		return value
	}
	value, err := parse(text)
	if err != nil {
		r.err = fmt.Errorf("%s: %w; start gpurun by srun, or %s", name, err, advice)
	}
	return value
}

// parseTasksPerNode reads "4(x2),3", which is 4, 4, 3.
func parseTasksPerNode(text string) ([]int, error) {
	var tasks []int
	for part := range strings.SplitSeq(text, ",") {
		count, times, repeated := strings.Cut(part, "(x")
		repetitions := uint64(1)
		var timesErr error
		if repeated {
			inner, closed := strings.CutSuffix(times, ")")
			repetitions, timesErr = strconv.ParseUint(inner, 10, 32)
			repeated = closed
		}
		n, err := strconv.ParseUint(count, 10, 24)
		switch {
		case err != nil, timesErr != nil, strings.Contains(part, "(") && !repeated, n == 0, repetitions == 0:
			return nil, fmt.Errorf("%.100q is not a list of numbers above 0, such as 4(x2),3", text)
		case uint64(len(tasks))+repetitions > maxHosts:
			return nil, fmt.Errorf("%.100q is for more than %d nodes", text, maxHosts)
		}
		for range repetitions {
			tasks = append(tasks, int(n))
		}
	}
	return tasks, nil
}
