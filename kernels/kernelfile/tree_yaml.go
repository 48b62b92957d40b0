package kernelfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yaml makes the tree of a file in YAML. The library may panic for texts that nobody has tried, which becomes an error.
func (s *source) yaml() (root *node, err error) {
	defer func() {
		if failure := recover(); failure != nil {
			root, err = nil, s.fail(0, fmt.Sprintf("reading YAML: %v", failure))
		}
	}()
	var document, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(s.text))
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF):
		return &node{kind: tableNode, line: 1}, nil
	case err != nil:
		return nil, s.yamlError(err)
	case document.Kind != yaml.DocumentNode || len(document.Content) != 1:
		return nil, s.fail(0, "the file is not one document")
	}
	switch err := d.Decode(&second); {
	case err == nil:
		return nil, s.fail(second.Line, "a kernel file is one document")
	case !errors.Is(err, io.EOF):
		return nil, s.yamlError(err)
	}
	root, err = s.yamlValue(document.Content[0], 0)
	if err == nil && root.kind != tableNode {
		return nil, s.fail(root.line, "a kernel file is a table of keys and values")
	}
	return root, err
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (s *source) yamlError(err error) error {
	text := err.Error()
	found := yamlLine.FindStringSubmatch(text)
	if found == nil {
		return s.fail(0, text)
	}
	line, _ := strconv.Atoi(found[1])
	return s.fail(line, strings.TrimPrefix(text, found[0]))
}

func (s *source) yamlValue(v *yaml.Node, depth int) (*node, error) {
	n, err := s.node(nullNode, v.Line, depth)
	if err != nil {
		return nil, err
	}
	switch v.Kind {
	case yaml.ScalarNode:
		return n, s.yamlScalar(n, v)
	case yaml.SequenceNode:
		n.kind = listNode
		for _, item := range v.Content {
			value, err := s.yamlValue(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.values = append(n.values, value)
		}
		return n, nil
	case yaml.MappingNode:
		return n, s.yamlTable(n, v, depth)
	}
	return nil, s.fail(v.Line, "aliases have no meaning in a kernel file: write the value again")
}

func (s *source) yamlTable(n *node, v *yaml.Node, depth int) error {
	n.kind = tableNode
	for i := 0; i+1 < len(v.Content); i += 2 {
		key := v.Content[i]
		if key.Kind != yaml.ScalarNode { // any scalar is its text: null is a key of arguments
			return s.fail(key.Line, "a key is a plain text")
		}
		value, err := s.yamlValue(v.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		if err := s.add(n, key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) yamlScalar(n *node, v *yaml.Node) error {
	n.text = v.Value
	var err error
	switch v.ShortTag() {
	case "!!str":
		n.kind = textNode
	case "!!int":
		n.kind, err = wholeNode, v.Decode(&n.whole)
	case "!!float":
		n.kind, err = realNode, v.Decode(&n.real)
	case "!!bool":
		n.kind, err = truthNode, v.Decode(&n.truth)
	case "!!null":
	default:
		return s.fail(v.Line, "a value "+v.ShortTag()+" has no meaning in a kernel file")
	}
	if err != nil {
		return s.fail(v.Line, v.Value+" is not a number of 64 bits")
	}
	return nil
}
