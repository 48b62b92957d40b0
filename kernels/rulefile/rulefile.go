// Package rulefile reads TOML documents that end in [[rule]] after [[rule]]: what
// was measured to be fastest, and how fast results must be. It refuses what the
// reader does not know, and names the line.
package rulefile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Decode reads a document into a pointer to a struct. Errors begin with the name
// of the file and, where it is known, the line; keys is what an unknown key is told
// that there is.
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

// decode has the library read. A bare date where text belongs makes that panic.
func decode(text []byte, into any) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a date or time stands bare; write it in quotes, for example \"2026-11-21\"")
		}
	}()
	return toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(into)
}

// Blame says which rule of a document, counted from 0, an error is about, and on
// which line that begins.
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
