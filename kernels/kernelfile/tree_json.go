package kernelfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// json makes the tree of a file in JSON.
func (s *source) json() (*node, error) {
	d := json.NewDecoder(bytes.NewReader(s.text))
	d.UseNumber()
	root, err := s.jsonValue(d, 0)
	switch {
	case err != nil:
		return nil, err
	case root.kind != tableNode:
		return nil, s.fail(root.line, "a kernel file is a table of keys and values")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, s.fail(s.jsonLine(d), "there is more behind the table")
	}
	return root, nil
}

// jsonLine is the line of the token that was read last.
func (s *source) jsonLine(d *json.Decoder) int { return s.line(max(int(d.InputOffset())-1, 0)) }

func (s *source) jsonToken(d *json.Decoder) (json.Token, error) {
	token, err := d.Token()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, s.fail(s.line(len(s.text)), "the file ends in the middle of a value")
	case err != nil:
		return nil, s.fail(s.jsonLine(d), strings.TrimPrefix(err.Error(), "json: "))
	}
	return token, nil
}

func (s *source) jsonValue(d *json.Decoder, depth int) (*node, error) {
	token, err := s.jsonToken(d)
	if err != nil {
		return nil, err
	}
	n, err := s.node(nullNode, s.jsonLine(d), depth)
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case string:
		n.kind, n.text = textNode, t
	case bool:
		n.kind, n.truth = truthNode, t
	case json.Number:
		return n, s.jsonNumber(n, t)
	case json.Delim:
		if t == '[' {
			return n, s.jsonItems(d, n, depth)
		}
		return n, s.jsonTable(d, n, depth)
	}
	return n, nil
}

func (s *source) jsonNumber(n *node, t json.Number) error {
	n.text = t.String()
	var err error
	if strings.ContainsAny(n.text, ".eE") {
		n.kind = realNode
		n.real, err = t.Float64()
	} else {
		n.kind = wholeNode
		n.whole, err = t.Int64()
	}
	if err != nil {
		return s.fail(n.line, n.text+" is not a number of 64 bits")
	}
	return nil
}

func (s *source) jsonItems(d *json.Decoder, n *node, depth int) error {
	n.kind = listNode
	for d.More() {
		item, err := s.jsonValue(d, depth+1)
		if err != nil {
			return err
		}
		n.values = append(n.values, item)
	}
	_, err := s.jsonToken(d)
	return err
}

func (s *source) jsonTable(d *json.Decoder, n *node, depth int) error {
	n.kind = tableNode
	for d.More() {
		key, err := s.jsonToken(d)
		if err != nil {
			return err
		}
		name, _ := key.(string) // the decoder lets no other key pass
		value, err := s.jsonValue(d, depth+1)
		if err != nil {
			return err
		}
		if err := s.add(n, name, value); err != nil {
			return err
		}
	}
	_, err := s.jsonToken(d)
	return err
}
