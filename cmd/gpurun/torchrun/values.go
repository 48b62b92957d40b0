package torchrun

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// value is a flag whose text is parsed into to.
type value[T any] struct {
	to    *T
	parse func(string) (T, error)
	text  string
	kind  string
}

func (v *value[T]) String() string { return v.text }
func (v *value[T]) Type() string   { return v.kind }

// Set parses text, and keeps what was there when it cannot.
func (v *value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err != nil {
		return err
	}
	*v.to, v.text = parsed, text
	return nil
}

// add defines a flag. A flag for a bool takes no value, or one behind "=".
func add[T any](f *pflag.FlagSet, to *T, parse func(string) (T, error), name, short, initial, usage string) {
	v := &value[T]{to: to, parse: parse, text: initial, kind: "string"}
	// The default is a constant of this package, and a test parses them all.
	if parsed, err := parse(initial); err == nil {
		*to = parsed
	}
	flag := f.VarPF(v, name, short, usage)
	if _, ok := any(to).(*bool); ok {
		v.kind, flag.NoOptDefVal = "bool", "true"
	}
}

func parseText(text string) (string, error) { return text, nil }

// parseBool reads what PET_ variables hold: torchrun's are 0 and 1.
func parseBool(text string) (bool, error) {
	b, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("%q is neither 1 nor 0", text)
	}
	return b, nil
}

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0, fmt.Errorf("%q is not a whole number from 0 on", text)
	}
	return n, nil
}

func parsePort(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is not a port: a number from 0 to 65535", text)
	}
	return int(n), nil
}

func parseSeconds(text string) (float64, error) {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s > 0) || math.IsInf(s, 0) {
		return 0, fmt.Errorf("%q is not a number of seconds above 0", text)
	}
	return s, nil
}

func oneOf(words ...string) func(string) (string, error) {
	return func(text string) (string, error) {
		if slices.Contains(words, text) {
			return text, nil
		}
		named := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == "" })
		return "", fmt.Errorf("there is no %q; there are: %s", text, strings.Join(named, ", "))
	}
}

// NodeRange is how many machines a job may have.
type NodeRange struct{ Min, Max int }

// parseNodes reads "2" or "1:2".
func parseNodes(text string) (NodeRange, error) {
	least, most, isRange := strings.Cut(text, ":")
	if !isRange {
		most = least
	}
	r := NodeRange{}
	var minErr, maxErr error
	r.Min, minErr = strconv.Atoi(least)
	r.Max, maxErr = strconv.Atoi(most)
	if minErr != nil || maxErr != nil || r.Min < 1 || r.Max < r.Min {
		return r, fmt.Errorf("%q is neither a number of machines above 0 nor a range MIN:MAX of them", text)
	}
	return r, nil
}

// Processes is how many workers a machine has: Number, or the number of what
// Word names when Number is 0: auto, gpu, cpu or xpu.
type Processes struct {
	Number int
	Word   string
}

func parseProcesses(text string) (Processes, error) {
	if slices.Contains([]string{"auto", "gpu", "cpu", "xpu"}, text) {
		return Processes{Word: text}, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return Processes{}, fmt.Errorf("%q is not a number of processes; write a number above 0, auto, gpu, cpu or xpu", text)
	}
	return Processes{Number: n}, nil
}

// Endpoint is where machines meet. HasPort says that a port was given; port 0
// stands for any that is free.
type Endpoint struct {
	Host    string
	Port    int
	HasPort bool
}

// parseEndpoint reads "host", "host:29400", "[::1]:29400" or "::1".
func parseEndpoint(text string) (Endpoint, error) {
	host, port, err := net.SplitHostPort(text)
	var malformed *net.AddrError
	if errors.As(err, &malformed) {
		bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
		if strings.ContainsAny(bare, "[]") || strings.Contains(bare, ":") && net.ParseIP(bare) == nil {
			return Endpoint{}, fmt.Errorf("%q is not a host with a port, as host:29400 or [::1]:29400", text)
		}
		return Endpoint{Host: bare}, nil
	}
	number, err := parsePort(port)
	if err != nil {
		return Endpoint{}, fmt.Errorf("%q: %w", text, err)
	}
	return Endpoint{Host: host, Port: number, HasPort: true}, nil
}

// parseConf reads "key=value,key=value". Scripts that quote it once too often
// pass the quotes on: they are dropped.
func parseConf(text string) (map[string]string, error) {
	text = strings.TrimSpace(text)
	for _, quote := range []string{`"`, "'"} {
		if inner, ok := strings.CutPrefix(text, quote); ok && strings.HasSuffix(inner, quote) {
			text = strings.TrimSuffix(inner, quote)
		}
	}
	conf := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, setting, ok := strings.Cut(pair, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, fmt.Errorf("%q is not of the form key=value", pair)
		}
		conf[key] = strings.TrimSpace(setting)
	}
	return conf, nil
}

// Signals are signals that are handled.
type Signals []syscall.Signal

// parseSignals reads a list of names. Others than these six cannot be passed on
// sensibly: they have a meaning of their own for a launcher, or cannot be caught.
func parseSignals(text string) (Signals, error) {
	valid := []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
	var signals Signals
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		signal := unix.SignalNum(name)
		if !slices.Contains(valid, signal) {
			return nil, fmt.Errorf("there is no %q; there are: SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2", name)
		}
		if !slices.Contains(signals, signal) {
			signals = append(signals, signal)
		}
	}
	return signals, nil
}

// Streams says for every local rank which of its streams are meant.
type Streams struct {
	all    int         // bits: 1 stdout, 2 stderr
	byRank map[int]int // if set, ranks that are not in it have none
}

// Of returns the streams of a local rank.
func (s Streams) Of(localRank int) (stdout, stderr bool) {
	bits := s.all
	if s.byRank != nil {
		bits = s.byRank[localRank]
	}
	return bits&1 != 0, bits&2 != 0
}

// Any reports whether any stream is meant at all.
func (s Streams) Any() bool {
	for _, bits := range s.byRank {
		if bits != 0 {
			return true
		}
	}
	return s.all != 0
}

// parseStreams reads "3", or by local rank "0:1,1:3".
func parseStreams(text string) (Streams, error) {
	if bits, ok := streamBits(text); ok {
		return Streams{all: bits}, nil
	}
	s := Streams{byRank: map[int]int{}}
	for pair := range strings.SplitSeq(text, ",") {
		left, right, _ := strings.Cut(pair, ":")
		rank, err := parseCount(left)
		bits, ok := streamBits(right)
		if err != nil || !ok {
			return Streams{}, fmt.Errorf("%q is neither a number from 0 to 3 nor a list as 0:3,1:2 of them by local rank", text)
		}
		s.byRank[rank] = bits
	}
	return s, nil
}

func streamBits(text string) (bits int, ok bool) {
	if len(text) != 1 || text[0] < '0' || text[0] > '3' {
		return 0, false
	}
	return int(text[0] - '0'), true
}

// Ranks is a set of local ranks. Without any it is all of them.
type Ranks []int

// Has reports whether a local rank is in the set.
func (r Ranks) Has(localRank int) bool { return len(r) == 0 || slices.Contains(r, localRank) }

// parseRanks reads "0,2".
func parseRanks(text string) (Ranks, error) {
	var ranks Ranks
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		rank, err := parseCount(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		ranks = append(ranks, rank)
	}
	return ranks, nil
}

// parseFilters splits at single commas; two are one comma of a text.
func parseFilters(text string) ([]string, error) {
	var filters []string
	const comma = "\x00"
	for filter := range strings.SplitSeq(strings.ReplaceAll(text, ",,", comma), ",") {
		if filter != "" {
			filters = append(filters, strings.ReplaceAll(filter, comma, ","))
		}
	}
	return filters, nil
}
