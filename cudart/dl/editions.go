package dl

import (
	"errors"
	"fmt"
	"strings"
)

// OpenEdition opens the library at path, or where path is empty, the first of its
// editions that is there, newest first as a rule: major versions of a product have
// files, folders and wheels of their own. It returns the edition too, which knows
// what to tell the user; of a given path that is the first. The error is a
// [*LoadError].
func OpenEdition(path string, editions ...Product) (*Library, Product, error) {
	var absences []string
	for _, p := range editions {
		lib, err := p.Open(path)
		if path != "" || !errors.Is(err, ErrNotFound) {
			return lib, p, err
		}
		absences = append(absences, errors.Unwrap(err).Error())
	}
	newest := editions[0]
	err := fmt.Errorf("%w: %s", ErrNotFound, strings.Join(absences, "; "))
	return nil, newest, newest.fail(err, "install it with pip install "+newest.Pip+", or give "+newest.Flag+" FILE")
}
