// Package rulefile reads TOML documents that end in a list of [[rule]] tables: tables of tunings and thresholds. It
// refuses unknown keys, and names the line of an error.
package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Decode reads a document into a pointer to a struct. Errors begin with the name of the file and, where it is known,
// the line. An unknown key is refused with the list of known keys, which the caller gives as keys.
func Decode(file string, text []byte, into any, keys string) error {
	err := decode(text, into)
	var (
		unknown *toml.StrictMissingError
		wrong   *toml.DecodeError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		e := unknown.Errors[0]
		line, _ := e.Position()
		return fmt.Errorf("%s:%d: unknown key %q; %s", file, line, strings.Join(e.Key(), "."), keys)
	case errors.As(err, &wrong):
		line, _ := wrong.Position()
		return fmt.Errorf("%s:%d: %w", file, line, err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// decode calls the TOML library, which panics on a bare date where text is expected.
func decode(text []byte, into any) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a date or time stands bare; write it in quotes, for example \"2026-11-21\"")
		}
	}()
	return toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(into)
}

// Blame adds to an error the number of its rule, which is counted from 0, and the line on which that begins.
func Blame(file string, text []byte, rule int, err error) error {
	if lines := ruleLines(text); rule < len(lines) {
		return fmt.Errorf("%s:%d: rule %d: %w", file, lines[rule], rule+1, err)
	}
	return fmt.Errorf("%s: rule %d: %w", file, rule+1, err)
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
