package plan

import (
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/worker/result"
)

// maxSizes bounds a sweep: more sizes than this are a slip.
const maxSizes = 4096

// sizes lists a sweep's sizes in bytes, from -b to -e: by adding -i, or else by
// multiplying with -f.
func sizes(s *settings.Sources, c settings.Config) ([]int64, error) {
	first, last := span(s, c)
	if first > last {
		return nil, exit.Usagef("%s %s is more than %s %s", s.Source("minbytes"), result.FormatSize(first),
			s.Source("maxbytes"), result.FormatSize(last))
	}
	next, err := step(s, c)
	if err != nil {
		return nil, err
	}
	var sizes []int64
	for at := first; at <= last; {
		if len(sizes) == maxSizes {
			return nil, exit.Usagef("from %s to %s there are more than %d sizes; take larger steps",
				result.FormatSize(first), result.FormatSize(last), maxSizes)
		}
		sizes = append(sizes, at)
		following := next(at)
		if following <= at { // past what an integer holds
			break
		}
		at = following
	}
	return sizes, nil
}

// span is the first and the last size. Where only one is given, beyond the
// other's default, it stands alone: the first is larger only where both are given.
func span(s *settings.Sources, c settings.Config) (first, last int64) {
	first, last = int64(c.MinBytes), int64(c.MaxBytes)
	switch {
	case first <= last:
	case s.Source("maxbytes") == "":
		last = first
	case s.Source("minbytes") == "":
		first = last
	}
	return first, last
}

// step is the function from a size to the next: by a factor, or by bytes where they are given.
// Of two that are given only one may be a flag, which then wins.
func step(s *settings.Sources, c settings.Config) (func(int64) int64, error) {
	factor, bytes := c.StepFactor, int64(c.StepBytes)
	if bytes > 0 && s.Source("stepfactor") != "" {
		switch byBytes, byFactor := s.Flagged("stepbytes"), s.Flagged("stepfactor"); {
		case byBytes == byFactor:
			return nil, exit.Usagef("%s and %s exclude each other", s.Source("stepbytes"), s.Source("stepfactor"))
		case byFactor:
			bytes = 0
		}
	}
	if bytes > 0 {
		return func(at int64) int64 { return at + bytes }, nil
	}
	return func(at int64) int64 {
		if at == 0 {
			return 1
		}
		return at * factor
	}, nil
}
