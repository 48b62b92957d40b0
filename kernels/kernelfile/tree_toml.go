package kernelfile

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxBrackets bounds the recursion of the library, which has no limit of its own.
const maxBrackets = 64

// toml makes the tree of a file in TOML. The parser of single lines gives the places. Only the
// decoder finds what is defined twice, so that the text goes through both.
func (s *source) toml() (*node, error) {
	if line := deepBrackets(s.text); line > 0 {
		return nil, s.fail(line, "brackets are nested too deep")
	}
	root := &node{kind: tableNode, line: 1}
	s.headers = map[*node]bool{}
	var p unstable.Parser
	p.Reset(s.text)
	into := root
	for p.NextExpression() {
		e := p.Expression()
		path, line, err := s.tomlKey(&p, e)
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case unstable.KeyValue:
			err = s.tomlSet(&p, into, e, 1)
		case unstable.Table, unstable.ArrayTable:
			into, err = s.tomlTable(root, path, line, e.Kind == unstable.ArrayTable)
		}
		if err != nil {
			return nil, err
		}
	}
	var all any
	if err := toml.Unmarshal(s.text, &all); err != nil {
		return nil, s.tomlError(err)
	}
	return root, nil
}

func (s *source) tomlError(err error) error {
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, _ := wrong.Position()
		return s.fail(line, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return s.fail(0, strings.TrimPrefix(err.Error(), "toml: "))
}

// tomlKey is the key of an expression, in its parts, and its line.
func (s *source) tomlKey(p *unstable.Parser, e *unstable.Node) (path []string, line int, err error) {
	for it := e.Key(); it.Next(); {
		if len(path) == 0 {
			line = s.tomlLine(p, it.Node())
		}
		path = append(path, string(it.Node().Data))
	}
	if len(path) > maxDepth {
		return nil, 0, s.fail(line, "a key has more than 16 parts")
	}
	return path, line, nil
}

// tomlTable is the table of a header.
func (s *source) tomlTable(root *node, path []string, line int, item bool) (*node, error) {
	into, err := s.tomlDescend(root, path[:len(path)-1], line)
	if err != nil {
		return nil, err
	}
	last := path[len(path)-1]
	if !item {
		table, err := s.tomlDescend(into, []string{last}, line)
		if s.headers[table] {
			return nil, s.fail(line, "["+strings.Join(path, ".")+"] is defined twice")
		}
		s.headers[table] = true
		return table, err
	}
	list := into.child(last)
	if list == nil {
		if list, err = s.node(listNode, line, 0); err != nil {
			return nil, err
		}
		if err := s.add(into, last, list); err != nil {
			return nil, err
		}
	}
	if list.kind != listNode {
		return nil, s.fail(line, strconv.Quote(last)+" is defined twice")
	}
	table, err := s.node(tableNode, line, 0)
	list.values = append(list.values, table)
	return table, err
}

// tomlDescend goes down from a table, and makes what tables are missing. A list stands for its last item.
func (s *source) tomlDescend(into *node, path []string, line int) (*node, error) {
	for _, key := range path {
		next := into.child(key)
		if next == nil {
			table, err := s.node(tableNode, line, 0)
			if err != nil {
				return nil, err
			}
			if err := s.add(into, key, table); err != nil {
				return nil, err
			}
			next = table
		}
		if next.kind == listNode && len(next.values) > 0 {
			next = next.values[len(next.values)-1]
		}
		if next.kind != tableNode {
			return nil, s.fail(line, strconv.Quote(key)+" is not a table")
		}
		into = next
	}
	return into, nil
}

// tomlSet sets a key, which may have dots, to its value.
func (s *source) tomlSet(p *unstable.Parser, into *node, e *unstable.Node, depth int) error {
	path, line, err := s.tomlKey(p, e)
	if err != nil {
		return err
	}
	if into, err = s.tomlDescend(into, path[:len(path)-1], line); err != nil {
		return err
	}
	value, err := s.tomlValue(p, e.Value(), line, depth)
	if err != nil {
		return err
	}
	return s.add(into, path[len(path)-1], value)
}

func (s *source) tomlValue(p *unstable.Parser, v *unstable.Node, line, depth int) (*node, error) {
	n, err := s.node(nullNode, line, depth)
	if err != nil {
		return nil, err
	}
	if at := s.tomlLine(p, v); at > 0 {
		n.line = at
	}
	switch v.Kind {
	case unstable.String:
		n.kind, n.text = textNode, string(v.Data)
	case unstable.Bool:
		n.kind, n.truth = truthNode, string(v.Data) == "true"
	case unstable.Integer:
		n.kind, n.text = wholeNode, string(v.Data)
		if n.whole, err = strconv.ParseInt(n.text, 0, 64); err != nil {
			return nil, s.fail(n.line, n.text+" is not a whole number of 64 bits")
		}
	case unstable.Float:
		n.kind, n.text = realNode, string(v.Data)
		if n.real, err = strconv.ParseFloat(strings.ReplaceAll(n.text, "_", ""), 64); err != nil {
			return nil, s.fail(n.line, n.text+" is not a number of 64 bits")
		}
	case unstable.Array:
		return n, s.tomlItems(p, n, v, depth)
	case unstable.InlineTable:
		n.kind = tableNode
		for it := v.Children(); it.Next(); {
			if err := s.tomlSet(p, n, it.Node(), depth+1); err != nil {
				return nil, err
			}
		}
	default:
		return nil, s.fail(n.line, "dates and times have no meaning in a kernel file")
	}
	return n, nil
}

func (s *source) tomlItems(p *unstable.Parser, list *node, v *unstable.Node, depth int) error {
	list.kind = listNode
	for it := v.Children(); it.Next(); {
		item, err := s.tomlValue(p, it.Node(), list.line, depth+1)
		if err != nil {
			return err
		}
		list.values = append(list.values, item)
	}
	return nil
}

// tomlLine is the line of a node, or 0 where the library does not give it.
func (s *source) tomlLine(p *unstable.Parser, v *unstable.Node) int {
	switch {
	case v.Raw.Length > 0:
		return s.line(int(v.Raw.Offset))
	case len(v.Data) > 0:
		return s.line(int(p.Range(v.Data).Offset))
	}
	return 0
}

// line is the number of the line of an offset.
func (s *source) line(offset int) int {
	if s.lines == nil {
		s.lines = []int{}
		for i, b := range s.text {
			if b == '\n' {
				s.lines = append(s.lines, i)
			}
		}
	}
	at, _ := slices.BinarySearch(s.lines, offset)
	return at + 1
}

// deepBrackets is the line where brackets are nested too deep, or 0. It counts those in texts and comments as well.
func deepBrackets(text []byte) int {
	open, line := 0, 1
	for _, b := range text {
		switch b {
		case '\n':
			line++
		case '[', '{':
			open++
		case ']', '}':
			open = max(open-1, 0)
		}
		if open > maxBrackets {
			return line
		}
	}
	return 0
}
