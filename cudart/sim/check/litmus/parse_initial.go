package litmus

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	proxyAlias    = regexp.MustCompile(`^(\w+)\s*@\s*(\w+)\s+aliases\s+(\w+)$`)
	assignment    = regexp.MustCompile(`^(?:P?(\d+)\s*:\s*)?(\w+)\s*=\s*(\S+)$`)
	declaredProxy = map[string]Proxy{
		"generic": Generic, "surface": Surface, "texture": Texture, "constant": Constant,
	}
)

// initial reads the initial state: values of locations and registers, and locations of the same memory.
func (p *parser) initial(s section) error {
	for _, d := range s.split(";") {
		if d.text == "" {
			continue
		}
		if m := proxyAlias.FindStringSubmatch(d.text); m != nil {
			if err := p.alias(d.line, m[1], m[2], m[3]); err != nil {
				return err
			}
			continue
		}
		m := assignment.FindStringSubmatch(d.text)
		if m == nil {
			return fmt.Errorf("line %d: %q is no initial value; write x=0, P0:r0=0 or y @ generic aliases x", d.line, d.text)
		}
		value, err := number(m[3])
		switch {
		case err != nil && identifier.MatchString(strings.TrimPrefix(m[3], "&")):
			return &Unsupported{d.line, "an address as a value (" + d.text + ")"}
		case err != nil:
			return fmt.Errorf("line %d: %q is no number", d.line, m[3])
		case m[1] != "":
			p.early = append(p.early, early{d.line, m[1], m[2], value})
		default:
			at := len(p.test.Locations)
			err := p.declare(d.line, Location{Name: m[2], Generic: at, Memory: at, Initial: value})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// alias declares a location with another one's memory. A generic alias has an address of its own; other proxies reach
// the address of the location that they name.
func (p *parser) alias(line int, name, proxy, of string) error {
	kind, known := declaredProxy[proxy]
	target, ok := p.locations[of]
	switch {
	case !known:
		return &Unsupported{line, "the proxy " + proxy}
	case !ok:
		return fmt.Errorf("line %d: %s aliases %s, which is not declared in front of it", line, name, of)
	}
	to := p.test.Locations[target]
	l := Location{Name: name, Generic: to.Generic, Memory: to.Memory, Initial: to.Initial}
	if kind == Generic {
		l.Generic = len(p.test.Locations)
	}
	return p.declare(line, l)
}

func (p *parser) declare(line int, l Location) error {
	if _, twice := p.locations[l.Name]; twice {
		return fmt.Errorf("line %d: %s is declared twice", line, l.Name)
	}
	p.locations[l.Name] = len(p.test.Locations)
	p.test.Locations = append(p.test.Locations, l)
	return nil
}

// location is the index of a location, which is declared with 0 if it is new.
func (p *parser) location(line int, name string) (int, error) {
	if at, ok := p.locations[name]; ok {
		return at, nil
	}
	at := len(p.test.Locations)
	return at, p.declare(line, Location{Name: name, Generic: at, Memory: at})
}

// number reads a decimal or hexadecimal number.
func number(text string) (int64, error) { return strconv.ParseInt(text, 0, 64) }
