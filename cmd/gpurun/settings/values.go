package settings

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ByteSize is a number of bytes, written with K, M or G for powers of 1024.
type ByteSize int64

// UnmarshalText reads "4096", "4K", "1M" or "2g".
func (b *ByteSize) UnmarshalText(text []byte) error {
	digits := strings.TrimRight(string(text), "kKmMgG")
	shift, ok := map[string]uint{"": 0, "k": 10, "m": 20, "g": 30}[strings.ToLower(string(text[len(digits):]))]
	n, err := strconv.ParseUint(digits, 10, 63)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && ok && n > math.MaxInt64>>shift:
		return fmt.Errorf("size %q is too large", text)
	case err != nil, !ok:
		return fmt.Errorf("size %q is not a whole number of bytes, optionally with K, M or G%s", text,
			nearestSize(string(text)))
	}
	*b = ByteSize(n << shift)
	return nil
}

// Numbers is a list of positive whole numbers.
type Numbers []int64

// UnmarshalText reads "4096", "1024,2048", or a list as a file has it.
func (n *Numbers) UnmarshalText(text []byte) error {
	*n = nil
	words := strings.FieldsFunc(strings.Trim(string(text), "[]"), func(c rune) bool { return c == ',' || c == ' ' })
	for _, word := range words {
		x, err := strconv.ParseInt(word, 10, 64)
		if err != nil || x < 1 {
			return fmt.Errorf("%q is not a positive whole number", word)
		}
		*n = append(*n, x)
	}
	if len(*n) == 0 {
		return errors.New("no number is given; write for example 1024,2048")
	}
	return nil
}

// String writes the numbers as UnmarshalText reads them.
func (n Numbers) String() string {
	var words []string
	for _, x := range n {
		words = append(words, strconv.FormatInt(x, 10))
	}
	return strings.Join(words, ",")
}

// nearestSize guesses what was meant: "1KiB" begins like a size. A fraction is none.
func nearestSize(text string) string {
	if strings.Contains(text, ".") {
		return "; sizes are whole numbers: write for example 1536K for 1.5M"
	}
	end := 0
	for end < len(text) && '0' <= text[end] && text[end] <= '9' {
		end++
	}
	rest := strings.TrimLeft(text[end:], " .0123456789")
	if end == 0 || rest == "" || !strings.ContainsAny(rest[:1], "bBkKmMgG") {
		return "; write for example 4K"
	}
	guess := text[:end]
	if suffix := strings.ToUpper(rest[:1]); suffix != "B" {
		guess += suffix
	}
	return fmt.Sprintf("; did you mean %q?", guess)
}

// Seconds is a positive length of time, written as seconds or with units.
type Seconds time.Duration

// UnmarshalText reads "30", "0.5" or "1m30s".
func (s *Seconds) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	if err != nil {
		d, err = time.ParseDuration(string(text) + "s")
	}
	switch {
	case err != nil:
		return fmt.Errorf("time %q is not a number of seconds; write for example 30 or 1m30s", text)
	case d <= 0:
		return fmt.Errorf("time %q is not positive, and every wait needs a bound; write for example 30 or 1m30s", text)
	}
	*s = Seconds(d)
	return nil
}

// OptionalSeconds is as Seconds, or 0 for none.
type OptionalSeconds time.Duration

// UnmarshalText reads "" or "0", which are none, or what Seconds reads.
func (s *OptionalSeconds) UnmarshalText(text []byte) error {
	if len(text) == 0 || string(text) == "0" {
		*s = 0
		return nil
	}
	return (*Seconds)(s).UnmarshalText(text)
}

// NodeCount is a number of machines.
type NodeCount int

// UnmarshalText reads a number. A range, which torchrun takes too, is refused: the
// ranks of a collective are the same from beginning to end.
func (n *NodeCount) UnmarshalText(text []byte) error {
	least, most, isRange := strings.Cut(string(text), ":")
	if isRange && least == most {
		text = []byte(least)
	} else if isRange {
		return fmt.Errorf("%q is a range, and a collective needs a fixed number of machines: write one number", text)
	}
	number, err := strconv.Atoi(string(text))
	if err != nil || number < 1 {
		return fmt.Errorf("%q is not a number of machines above 0", text)
	}
	*n = NodeCount(number)
	return nil
}

// Processes is how many processes to run: a number above zero, or a word.
type Processes struct {
	Number int
	Word   string // "", "auto", "gpu" or "cpu" when number is zero
}

// UnmarshalText reads a number, "auto", "gpu" or "cpu". Empty text stands for
// whatever the command does by itself.
func (p *Processes) UnmarshalText(text []byte) error {
	switch word := string(text); word {
	case "", "auto", "gpu", "cpu":
		*p = Processes{Word: word}
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a number of processes; write a number above 0, auto, gpu or cpu", text)
	}
	*p = Processes{Number: n}
	return nil
}
