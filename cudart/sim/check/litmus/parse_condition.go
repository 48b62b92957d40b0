package litmus

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	token     = regexp.MustCompile(`^(/\\|\\/|~|\(|\)|\[|\]|==|!=|<=|>=|=|<|>|:|-?\w+)`)
	operators = map[string]string{
		"=": "eq", "==": "eq", "!=": "ne", "<": "lt", ">": "gt", "<=": "le", ">=": "ge",
	}
)

// conditions reads what stands behind the threads. A list of locations to show is skipped.
func (p *parser) conditions(rows []section) error {
	var all strings.Builder
	for _, r := range rows {
		all.WriteString(r.text)
		all.WriteString("\n")
	}
	line := rows[0].line
	tokens, err := tokens(all.String(), line)
	if err != nil {
		return err
	}
	c := &conditionParser{parser: p, tokens: tokens, line: line}
	if c.accept("locations") {
		for !c.accept("]") {
			if c.next() == "" {
				return fmt.Errorf("line %d: the list of locations has no end", line)
			}
		}
	}
	if c.accept("filter") {
		p.test.Filter = c.disjunction()
	}
	negative := c.accept("~") || c.accept("not")
	switch word := c.next(); {
	case c.err != nil:
	case word == "exists" && negative:
		p.test.Quantifier = NotExists
	case word == "exists":
		p.test.Quantifier = Exists
	case word == "forall" && !negative:
		p.test.Quantifier = ForAll
	case word == "" && !negative:
		return nil
	default:
		return fmt.Errorf("line %d: %q is no condition; write exists, ~exists or forall", line, word)
	}
	p.test.Condition = c.disjunction()
	if rest := c.next(); rest != "" && c.err == nil {
		c.fail("%q stands behind the condition", rest)
	}
	return c.err
}

func tokens(text string, line int) ([]string, error) {
	var all []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		t := token.FindString(text)
		if t == "" {
			return nil, fmt.Errorf("line %d: %q is no part of a condition", line, strings.Fields(text)[0])
		}
		all = append(all, t)
		text = text[len(t):]
	}
	return all, nil
}

// conditionParser reads a condition by recursive descent. The first error ends it.
type conditionParser struct {
	*parser
	tokens []string
	line   int
	depth  int
	err    error
}

func (c *conditionParser) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("line %d: in the condition: %s", c.line, fmt.Sprintf(format, args...))
	}
}

func (c *conditionParser) peek() string {
	if len(c.tokens) == 0 {
		return ""
	}
	return c.tokens[0]
}

func (c *conditionParser) next() string {
	t := c.peek()
	if t != "" {
		c.tokens = c.tokens[1:]
	}
	return t
}

func (c *conditionParser) accept(t string) bool {
	if c.peek() != t {
		return false
	}
	c.next()
	return true
}

func (c *conditionParser) disjunction() Condition {
	left := c.conjunction()
	for c.err == nil && c.accept(`\/`) {
		left = either{left, c.conjunction()}
	}
	return left
}

func (c *conditionParser) conjunction() Condition {
	left := c.atom()
	for c.err == nil && c.accept(`/\`) {
		left = both{left, c.atom()}
	}
	return left
}

// maxDepth bounds nested parentheses and negations.
const maxDepth = 100

func (c *conditionParser) atom() Condition {
	if c.depth++; c.depth > maxDepth {
		c.fail("more than %d nested parentheses", maxDepth)
	}
	defer func() { c.depth-- }()
	switch {
	case c.err != nil:
		return both{}
	case c.accept("~") || c.accept("not"):
		return negated{c.atom()}
	case c.accept("("):
		inner := c.disjunction()
		if !c.accept(")") {
			c.fail("a closing parenthesis is missing in front of %q", c.peek())
		}
		return inner
	}
	left := c.term()
	operation, ok := operators[c.next()]
	if !ok {
		c.fail("a comparison is missing, such as ==")
	}
	return compare{operation, left, c.term()}
}

// term reads P0:r1, 0:r1, x, [x] or a number.
func (c *conditionParser) term() term {
	word := c.next()
	if word == "[" {
		word = c.next()
		if !c.accept("]") {
			c.fail("[%s has no closing bracket", word)
		}
	} else if c.accept(":") {
		thread, ok := c.names[strings.TrimPrefix(word, "P")]
		if !ok {
			c.fail("there is no thread %s", word)
			return term{}
		}
		return term{thread: thread, index: c.register(thread, c.next())}
	}
	if at, ok := c.locations[word]; ok {
		return term{thread: -1, index: at}
	}
	n, err := number(word)
	if err != nil {
		c.fail("%q is neither a register, such as P0:r0, nor a location, nor a number", word)
	}
	return term{index: -1, number: n}
}
