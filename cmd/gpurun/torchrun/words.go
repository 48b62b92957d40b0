package torchrun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// UnknownFlagError is a flag that there is not. Word is the word that has it: -host, which begins with -h, has -ost.
type UnknownFlagError struct{ Flag, Word string }

// Error names the flag.
func (e *UnknownFlagError) Error() string { return "unknown flag " + e.Flag }

// Line is a command line that was split by the rules of Python's argparse: flags
// come first, and everything from the first other word on is left alone.
type Line struct {
	// Settings are the flags in the order in which they were given.
	Settings []Setting
	// Words is what follows the flags, and the "--" between them if Dashed.
	Words  []string
	Dashed bool
}

// Setting is one flag with its value, which is "true" for a flag that takes none.
type Setting struct {
	Flag  *pflag.Flag
	Value string
}

// Has reports whether a flag was given.
func (l Line) Has(flag string) bool {
	return slices.ContainsFunc(l.Settings, func(s Setting) bool { return s.Flag.Name == flag })
}

// Split splits a command line. A flag may be written with dashes or underscores,
// with its value behind "=" or as the next word, and shortened as long as only
// one of torchrun's begins so, or else one of the others'.
func (o *Options) Split(args []string, others *pflag.FlagSet) (Line, error) {
	l := splitter{flags: o.flags, others: others, rest: args}
	for len(l.rest) > 0 {
		word := l.rest[0]
		if !strings.HasPrefix(word, "-") || word == "-" {
			break
		}
		l.rest = l.rest[1:]
		if word == "--" {
			l.line.Dashed = true
			break
		}
		if err := l.take(word); err != nil {
			return l.line, err
		}
	}
	l.line.Words = l.rest
	return l.line, nil
}

type splitter struct {
	flags, others *pflag.FlagSet
	rest          []string
	line          Line
}

// take takes one word that begins with a dash, and its value.
func (l *splitter) take(word string) error {
	if !strings.HasPrefix(word, "--") {
		return l.takeShort(word)
	}
	name, text, given := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	flag, err := l.find(name)
	if err != nil {
		return err
	}
	return l.set("--"+flag.Name, flag, text, given)
}

// takeShort takes "-r 3", "-r3", "-r=3", and "-mr3" for flags without values
// before the last.
func (l *splitter) takeShort(word string) error {
	for letters := word[1:]; letters != ""; {
		flag := l.flags.ShorthandLookup(letters[:1])
		if flag == nil {
			flag = l.others.ShorthandLookup(letters[:1])
		}
		if flag == nil {
			return &UnknownFlagError{Flag: "-" + letters, Word: word}
		}
		name := "-" + letters[:1]
		letters = letters[1:]
		if flag.NoOptDefVal == "" {
			text, _ := strings.CutPrefix(letters, "=")
			return l.set(name, flag, text, letters != "")
		}
		if err := l.set(name, flag, "", false); err != nil {
			return err
		}
	}
	return nil
}

// set notes a flag, with the next word as its value if it has none and needs one.
func (l *splitter) set(name string, flag *pflag.Flag, text string, given bool) error {
	switch {
	case given:
	case flag.NoOptDefVal != "":
		text = flag.NoOptDefVal
	case len(l.rest) == 0 || looksLikeFlag(l.rest[0]):
		return fmt.Errorf("%s needs a value", name)
	default:
		text, l.rest = l.rest[0], l.rest[1:]
	}
	l.line.Settings = append(l.line.Settings, Setting{flag, text})
	return nil
}

// looksLikeFlag reports whether a word is a flag, and not a negative number.
func looksLikeFlag(word string) bool {
	if !strings.HasPrefix(word, "-") || word == "-" {
		return false
	}
	_, err := strconv.ParseFloat(word, 64)
	return err != nil
}

// find finds a flag by its name or the beginning of it.
func (l *splitter) find(name string) (*pflag.Flag, error) {
	for _, set := range []*pflag.FlagSet{l.flags, l.others} {
		if flag := set.Lookup(name); flag != nil {
			return flag, nil
		}
	}
	for _, set := range []*pflag.FlagSet{l.flags, l.others} {
		switch found := beginning(set, name); len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return nil, fmt.Errorf("--%s is ambiguous: %s", name, list(found))
		}
	}
	return nil, &UnknownFlagError{Flag: "--" + name, Word: "--" + name}
}

// beginning returns the flags whose names begin so.
func beginning(set *pflag.FlagSet, name string) (found []*pflag.Flag) {
	if name == "" {
		return nil
	}
	prefix := string(dashes(nil, name))
	set.VisitAll(func(f *pflag.Flag) {
		if strings.HasPrefix(f.Name, prefix) {
			found = append(found, f)
		}
	})
	return found
}

func list(flags []*pflag.Flag) string {
	var names []string
	for _, f := range flags {
		names = append(names, "--"+f.Name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
