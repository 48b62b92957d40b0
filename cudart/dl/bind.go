package dl

import (
	"errors"
	"slices"
)

// Binding says which function of a library belongs into a variable.
type Binding struct {
	to       *Func
	names    []string // the first that the library has is taken
	optional bool
}

// Required is a function that every supported version of a library has, under one of the names.
func Required(to *Func, names ...string) Binding { return Binding{to: to, names: names} }

// Optional is a function that some supported versions lack. There the variable stays the zero Func.
func Optional(to *Func, names ...string) Binding {
	return Binding{to: to, names: names, optional: true}
}

// Bind finds all functions. The error names every required one that the library lacks.
func (l *Library) Bind(bindings ...Binding) error {
	var missing []error
	for _, b := range bindings {
		found, err := l.Func(b.names...)
		if *b.to = found; err != nil && !b.optional {
			missing = append(missing, err)
		}
	}
	return errors.Join(missing...)
}

// AllFound reports whether all functions were found.
func AllFound(bindings []Binding) bool {
	return !slices.ContainsFunc(bindings, func(b Binding) bool { return !b.to.Found() })
}
