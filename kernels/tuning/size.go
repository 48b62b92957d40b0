package tuning

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. As text it may end in K, M or G, powers of 1024.
type Size int64

// suffixes are the endings of a size, each 1024 times the one before.
var suffixes = [...]string{"", "K", "M", "G"}

// String writes the size with the largest suffix that divides it.
func (s Size) String() string {
	i := 0
	for ; i < len(suffixes)-1 && s != 0 && s%1024 == 0; i++ {
		s /= 1024
	}
	return strconv.FormatInt(int64(s), 10) + suffixes[i]
}

// MarshalText writes the size as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads "4096", "64K" or "1M".
func (s *Size) UnmarshalText(text []byte) error {
	digits := strings.TrimRight(string(text), "KMG")
	for i, suffix := range suffixes {
		n, err := strconv.ParseUint(digits, 10, 63)
		if err == nil && digits+suffix == string(text) && n <= math.MaxInt64>>(10*i) {
			*s = Size(n << (10 * i))
			return nil
		}
	}
	return fmt.Errorf("size %q is not a whole number of bytes, optionally with K, M or G; write for example \"64K\"", text)
}
