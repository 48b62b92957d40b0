package flight

import "fmt"

// mostKeys bounds the search in one dictionary, which a pickle can share among all entries.
const mostKeys = 256

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

// floor is the height of the stack under which operations on values do not reach.
func (u *unpickler) floor() int {
	if len(u.marks) == 0 {
		return 0
	}
	return u.marks[len(u.marks)-1]
}

func (u *unpickler) top() (any, error) {
	if len(u.stack) <= u.floor() {
		return nil, fmt.Errorf("%w: the stack is empty", errPickle)
	}
	return u.stack[len(u.stack)-1], nil
}

func (u *unpickler) pop() (any, error) {
	v, err := u.top()
	if err == nil {
		u.stack = u.stack[:len(u.stack)-1]
	}
	return v, err
}

// popMark pops the values above the last mark, and the mark. The result is valid until the next push.
func (u *unpickler) popMark() ([]any, error) {
	if len(u.marks) == 0 {
		return nil, fmt.Errorf("%w: no mark", errPickle)
	}
	height := u.floor()
	u.marks = u.marks[:len(u.marks)-1]
	values := u.stack[height:]
	u.stack = u.stack[:height]
	return values, nil
}

// popSome pops a number of values, in the order in which they were pushed.
func (u *unpickler) popSome(n int) ([]any, error) {
	if len(u.stack)-n < u.floor() {
		return nil, fmt.Errorf("%w: the stack is empty", errPickle)
	}
	values := u.stack[len(u.stack)-n:]
	u.stack = u.stack[:len(u.stack)-n]
	return values, nil
}

// list makes and extends lists. A tuple is a list that nothing extends.
func (u *unpickler) list(op byte) error {
	var values []any
	var err error
	switch op {
	case 't', 'l', 'e': // TUPLE, LIST, APPENDS
		values, err = u.popMark()
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		values, err = u.popSome(int(op - 0x84))
	case 'a': // APPEND
		values, err = u.popSome(1)
	}
	if err != nil {
		return err
	}
	if op != 'a' && op != 'e' {
		u.push(&list{items: append([]any(nil), values...)})
		return nil
	}
	v, err := u.top()
	if err != nil {
		return err
	}
	l, ok := v.(*list)
	if !ok {
		return fmt.Errorf("%w: appending to a %T", errPickle, v)
	}
	l.items = append(l.items, values...)
	return nil
}

// dict makes dictionaries and sets their items.
func (u *unpickler) dict(op byte) error {
	var values []any
	var err error
	switch op {
	case 'd', 'u': // DICT, SETITEMS
		values, err = u.popMark()
	case 's': // SETITEM
		values, err = u.popSome(2)
	}
	if err != nil {
		return err
	}
	if len(values)%2 != 0 {
		return fmt.Errorf("%w: a key without a value", errPickle)
	}
	d := &dict{}
	if op == 's' || op == 'u' {
		v, err := u.top()
		if err != nil {
			return err
		}
		var ok bool
		if d, ok = v.(*dict); !ok {
			return fmt.Errorf("%w: setting an item of a %T", errPickle, v)
		}
	}
	for i := 0; i < len(values); i += 2 {
		d.keys, d.values = append(d.keys, values[i]), append(d.values, values[i+1])
	}
	if op == '}' || op == 'd' {
		u.push(d)
	}
	return nil
}

// get returns the value of a key, the last one that was set. It searches few keys: an entry has about 25.
func (d *dict) get(key string) any {
	for i := min(len(d.keys), mostKeys) - 1; i >= 0; i-- {
		if d.keys[i] == any(key) {
			return d.values[i]
		}
	}
	return nil
}
