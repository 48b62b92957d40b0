package kernelcode

import (
	"errors"
	"fmt"
	"strings"
)

// splitWords splits a command at blanks. A word may be quoted by ' or ", and \ takes the next character as it stands
// outside of '. What only a shell would understand is refused.
func splitWords(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, begun := rune(0), false
	characters := []rune(command)
	for i := 0; i < len(characters); i++ {
		c := characters[i]
		switch {
		case c == 0: // would pass for the end of a quotation, and no argument of a process can have it
			return nil, errors.New("the command has a character with the number 0")
		case c == '\\' && quote != '\'' && i+1 < len(characters) && characters[i+1] != 0:
			i++
			word.WriteRune(characters[i])
			begun = true
		case c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		case strings.ContainsRune("|&;<>()$`", c):
			return nil, fmt.Errorf("%q is for a shell, and the command runs without one: quote it, or write a script and "+
				"name it here", c)
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("a quotation mark %c is not closed", quote)
	case begun:
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("the command is empty")
	}
	return words, nil
}

// shown writes words as a shell would take them, for people who copy the command.
func shown(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = word
		if word == "" || strings.ContainsAny(word, " \t\n\r'\"\\|&;<>()$`*?[]#~{}!") {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
