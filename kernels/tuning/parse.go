package tuning

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// Parse reads a table. The name stands before errors, with the line: unknown
// keys, words that the catalog does not have, and rules out of order.
func Parse(name string, text []byte) (Table, error) {
	t, err := decode(text)
	if err != nil {
		return Table{}, decodingError(name, err)
	}
	if err := t.checkHead(); err != nil {
		return Table{}, fmt.Errorf("%s: %w", name, err)
	}
	lines, known := ruleLines(text), catalog()
	for i := range t.Rules {
		if err := t.checkRule(i, known); err != nil {
			if i < len(lines) {
				return Table{}, fmt.Errorf("%s:%d: rule %d: %w", name, lines[i], i+1, err)
			}
			return Table{}, fmt.Errorf("%s: rule %d: %w", name, i+1, err)
		}
	}
	return t, nil
}

// catalog is every collective by its name. To make it takes far longer than to
// look into it.
func catalog() map[string]*collective.Collective {
	all := map[string]*collective.Collective{}
	for _, c := range kernels.Collectives() {
		all[c.Name] = c
	}
	return all
}

// decode reads TOML. A bare date where text belongs makes the library panic.
func decode(text []byte) (t Table, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a date or time stands bare; write it in quotes, for example \"2026-11-21\"")
		}
	}()
	err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&t)
	return t, err
}

// decodingError names the line of what is no TOML or has an unknown key.
func decodingError(name string, err error) error {
	var (
		unknown *toml.StrictMissingError
		wrong   *toml.DecodeError
	)
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		e := unknown.Errors[0]
		line, _ := e.Position()
		return fmt.Errorf("%s:%d: unknown key %q; there are gpu, compute, driver, measured and dtype, "+
			"and in a [[rule]] collective, world, up_to, algorithm and blocks", name, line, strings.Join(e.Key(), "."))
	case errors.As(err, &wrong):
		line, _ := wrong.Position()
		return fmt.Errorf("%s:%d: %w", name, line, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// ruleLines lists the numbers of the lines on which the rules begin.
func ruleLines(text []byte) []int {
	var numbers []int
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "[[rule]]") {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// checkHead checks what the whole table says.
func (t Table) checkHead() error {
	var major, minor int
	if _, err := fmt.Sscanf(t.Compute, "%d.%d", &major, &minor); err != nil || fmt.Sprintf("%d.%d", major, minor) != t.Compute || minor > 9 {
		return fmt.Errorf("compute %q is not a compute capability; write for example \"9.0\"", t.Compute)
	}
	if _, err := time.Parse(time.DateOnly, t.Measured); err != nil {
		return fmt.Errorf("measured %q is not a day; write for example \"2026-11-21\"", t.Measured)
	}
	if _, ok := collective.ParseDType(t.DType); !ok {
		return fmt.Errorf("there is no element type %q; write the dtype of the calls, for example \"bfloat16\"", t.DType)
	}
	if t.GPU == "" {
		return errors.New("gpu is missing: write the model as \"gpurun list --output json\" names it")
	}
	return nil
}

// checkRule checks the rule with the index i against the collectives that are known,
// and that it comes behind the one before.
func (t Table) checkRule(i int, known map[string]*collective.Collective) error {
	r := t.Rules[i]
	c, ok := known[r.Collective]
	if !ok {
		return fmt.Errorf("there is no collective %q; \"gpurun list\" has them all", r.Collective)
	}
	if _, ok := c.Algorithm(r.Algorithm); !ok {
		return fmt.Errorf("%s has no algorithm %q; \"gpurun list\" has them all", r.Collective, r.Algorithm)
	}
	switch {
	case r.World < 1 || r.World > collective.MaxRanks:
		return fmt.Errorf("world %d is not between 1 and %d", r.World, collective.MaxRanks)
	case r.Blocks < 0 || r.Blocks > collective.MaxBlocks:
		return fmt.Errorf("blocks %d is not between 1 and %d; leave the key out to leave the number to the algorithm", r.Blocks, collective.MaxBlocks)
	case r.UpTo < 0:
		return fmt.Errorf("up_to %d is negative", r.UpTo)
	}
	if err := t.checkOrder(i); err != nil {
		return err
	}
	last := i == len(t.Rules)-1 || !r.sameSweep(t.Rules[i+1])
	if last && r.UpTo != 0 {
		return fmt.Errorf("it is the last for %s among %d, so that larger sizes have none; leave out its up_to", r.Collective, r.World)
	}
	return nil
}

// checkOrder checks that the rule with the index i begins where the one before
// ends.
func (t Table) checkOrder(i int) error {
	r := t.Rules[i]
	if i > 0 && t.Rules[i-1].sameSweep(r) {
		before := t.Rules[i-1].UpTo
		switch {
		case before == 0:
			return fmt.Errorf("the rule before has no up_to, so that this one is for nothing; give that one an up_to")
		case r.UpTo != 0 && r.UpTo <= before:
			return fmt.Errorf("up_to %q is not above the %q of the rule before; sort the rules by size", r.UpTo, before)
		}
		return nil
	}
	for _, earlier := range t.Rules[:i] {
		if earlier.sameSweep(r) {
			return fmt.Errorf("rules for %s among %d stand further up; put them together, the smallest sizes first", r.Collective, r.World)
		}
	}
	return nil
}

// sameSweep reports whether two rules share their collective and number of
// ranks.
func (r Rule) sameSweep(other Rule) bool {
	return r.Collective == other.Collective && r.World == other.World
}
