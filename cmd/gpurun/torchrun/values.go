package torchrun

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
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
		return "", fmt.Errorf("unknown value %q (valid: %s)", text, strings.Join(named, ", "))
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
