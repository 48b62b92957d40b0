package kernelfile

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Limits of a file, so that none takes more than a few megabytes or milliseconds.
const (
	maxFileBytes = 128 << 10
	maxNodes     = 20_000
	maxDepth     = 16
	maxKeys      = 1000 // of a table: keys are found by a search through all
)

// A node is a value of a file in TOML, YAML or JSON.
type node struct {
	kind nodeKind
	line int
	keys []string // of a table, in the order of the file
	// values are those of keys, or the items of a list.
	values []*node
	text   string // of a text; of a number: as it is written
	whole  int64
	real   float64
	truth  bool
}

type nodeKind int

const (
	tableNode nodeKind = iota
	listNode
	textNode
	wholeNode
	realNode
	truthNode
	nullNode
)

func (k nodeKind) String() string {
	return [...]string{"a table", "a list", "a text", "a whole number", "a real number", "true or false", "null"}[k]
}

// child is the value of a key, or nil.
func (n *node) child(key string) *node {
	for i, k := range n.keys {
		if k == key {
			return n.values[i]
		}
	}
	return nil
}

// parseTree reads a file by the extension of its name.
func parseTree(path string, text []byte) (*node, error) {
	if len(text) > maxFileBytes {
		return nil, &Error{path, 0, "a kernel file has at most 128 KB: is it the right file?"}
	}
	s := &source{path: path, text: text}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".toml":
		return s.toml()
	case ".yaml", ".yml":
		return s.yaml()
	case ".json":
		return s.json()
	}
	return nil, &Error{path, 0, "the name of a kernel file ends in .toml, .yaml, .yml or .json"}
}

// A source is the text of a file while its tree is made.
type source struct {
	path  string
	text  []byte
	lines []int // offsets of the ends of lines; made by the first use
	nodes int   // made so far
	// headers are the tables that have had one, in TOML.
	headers map[*node]bool
}

func (s *source) fail(line int, message string) error { return &Error{s.path, line, message} }

// node makes a node, within the limits.
func (s *source) node(kind nodeKind, line, depth int) (*node, error) {
	s.nodes++
	switch {
	case s.nodes > maxNodes:
		return nil, s.fail(line, "the file has more than 20000 values")
	case depth > maxDepth:
		return nil, s.fail(line, "tables and lists are nested more than 16 deep")
	}
	return &node{kind: kind, line: line}, nil
}

// add sets a key of a table.
func (s *source) add(into *node, key string, value *node) error {
	switch {
	case into.child(key) != nil:
		return s.fail(value.line, strconv.Quote(key)+" is defined twice")
	case len(into.keys) == maxKeys:
		return s.fail(value.line, "a table has more than 1000 keys")
	}
	into.keys = append(into.keys, key)
	into.values = append(into.values, value)
	return nil
}
