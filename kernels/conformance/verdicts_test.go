package conformance

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"gpurun/kernels/reference"
)

// sharedVerdicts holds the results of a call that ranks of a group have verified: the same bytes are right on every
// rank that the reference judges alike. So the reference of an allreduce is computed once, not once a rank. Other bytes
// are judged anew, because a bound on rounding errors allows them.
type sharedVerdicts struct {
	mu    sync.Mutex
	call  string            // the one that was verified last; results of others are dropped
	right map[string][]byte // by all that the reference depends on
}

// of returns a verdict on a part of a call's output. The caller does not change the output afterwards.
func (s *sharedVerdicts) of(call, part string, got []byte, judge func() reference.Verdict) reference.Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.call != call {
		s.call, s.right = call, map[string][]byte{}
	}
	if right, ok := s.right[part]; ok && bytes.Equal(got, right) {
		return reference.Verdict{}
	}
	v := judge()
	if v.Wrong == 0 {
		s.right[part] = got
	}
	return v
}

// judge compares a segment of a rank's output with the reference.
func (c testCall) judge(m *member, s reference.Segment, got []byte) reference.Verdict {
	in := c.in
	in.First, in.Root = s.First, c.root
	part := fmt.Sprintf("%+v, source %v, from %d, %d bytes", c.referenceEpilogue(in), s.Source, s.From, len(got))
	return m.verdicts.of(c.String(), part, got, func() reference.Verdict {
		if s.Source == reference.Reduced {
			return c.referenceEpilogue(in).Result(got)
		}
		return in.From(s.From, got)
	})
}

// keptInput is the input that a rank has generated last: calls write it, and compare with it afterwards.
type keptInput struct {
	name string
	data []byte
}

// inputOf is the input of a member. The caller does not change it.
func (c testCall) inputOf(m *member) []byte {
	if name := fmt.Sprintf("%+v, %d bytes", c.in, c.sendBytes()); m.input.name != name {
		m.input = keptInput{name, c.input(m.rank)}
	}
	return m.input.data
}

// Only bytes that were found right, of the same part of the same call, are not judged again.
func TestVerdictsAreSharedForEqualResults(t *testing.T) {
	var s sharedVerdicts
	for i, tt := range []struct {
		call, part, got string
		wrong           int64
		judged          bool
	}{
		{"a", "0", "right", 0, true},
		{"a", "0", "right", 1, false},
		{"a", "0", "other", 1, true},
		{"a", "0", "other", 1, true},
		{"a", "0", "right", 1, false},
		{"a", "1", "right", 1, true},
		{"a", "1", "", 0, true},
		{"b", "0", "right", 0, true},
		{"a", "0", "right", 1, true},
	} {
		judged := false
		v := s.of(tt.call, tt.part, []byte(tt.got), func() reference.Verdict {
			judged = true
			return reference.Verdict{Wrong: tt.wrong}
		})
		if judged != tt.judged || judged && v.Wrong != tt.wrong || !judged && v.Wrong != 0 {
			t.Errorf("result %d: judged %t, %d wrong; want %t, %d", i, judged, v.Wrong, tt.judged, tt.wrong)
		}
	}
}
