package tcpstore

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func defaults(t testing.TB) Limits {
	t.Helper()
	limits, err := Limits{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return limits
}

func TestGenerationByTheFirstBytes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bytes string
		want  generation
		size  int
		known bool
	}{
		{"validate", "\x00\xce\xf7\x85\x3c\x07", current, 5, true},
		{"legacy set", "\x00\x01\x00\x00\x00\x00\x00\x00\x00k", legacy, 0, true},
		{"legacy add", "\x03", legacy, 0, true},
		{"cut short", "\x00\xce\xf7\x85", 0, 0, false},
		{"nothing", "", 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, size, known := greeting([]byte(tt.bytes))
			if got != tt.want || size != tt.size || known != tt.known {
				t.Errorf("got %v, %d, %v, want %v, %d, %v", got, size, known, tt.want, tt.size, tt.known)
			}
		})
	}
}

func TestCodes(t *testing.T) {
	var currentCodes, legacyCodes []operation
	for code := range 256 {
		if op, ok := current.operation(byte(code)); ok {
			currentCodes = append(currentCodes, op)
		}
		if op, ok := legacy.operation(byte(code)); ok {
			legacyCodes = append(legacyCodes, op)
		}
	}
	if diff := cmp.Diff([]operation{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18},
		currentCodes); diff != "" {
		t.Errorf("today's (-want +got):\n%s", diff)
	}
	want := []operation{
		opSet, opCompareSet, opGet, opAdd, opCheck, opWait, opGetNumKeys,
		opDeleteKey, opAppend, opMultiGet, opMultiSet, opCancelWait,
	}
	if diff := cmp.Diff(want, legacyCodes); diff != "" {
		t.Errorf("legacy (-want +got):\n%s", diff)
	}
}

func TestRequestsOverLimits(t *testing.T) {
	limits := Limits{KeyBytes: 4, ValueBytes: 1000, RequestKeys: 3, TotalBytes: 4000}
	for _, tt := range []struct {
		name      string
		op        operation
		arguments []any
		complete  bool
		err       error
	}{
		{"all is well", opSet, []any{"kkkk", strings.Repeat("v", 800)}, true, nil},
		{"long key", opSet, []any{"kkkkk", "v"}, false, errLimit},
		{"long value", opSet, []any{"k", strings.Repeat("v", 1001)}, false, errLimit},
		{"negative length", opGet, []any{-1}, false, errLimit},
		{"many keys", opWait, []any{4, "a", "b", "c", "d"}, false, errLimit},
		{"negative count", opMultiSet, []any{-1}, false, errLimit},
		{"long in all", opCompareSet, []any{"k", strings.Repeat("v", 500), strings.Repeat("w", 500)}, false, errLimit},
		{"long in all, announced", opCompareSet, []any{"k", strings.Repeat("v", 500), 500}, false, errLimit},
		{"cut short", opGet, []any{3}, false, nil},
		{"unknown", 77, nil, false, errProtocol},
		{"validate again", opValidate, nil, false, errProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := encode(current, tt.op, tt.arguments...)
			s, err := scan(current, b[0])
			complete := false
			if err == nil {
				complete, err = s.complete(b, limits)
			}
			if complete != tt.complete || !errors.Is(err, tt.err) {
				t.Errorf("got %v, %v, want %v, %v", complete, err, tt.complete, tt.err)
			}
		})
	}
}

func FuzzDecodeCurrent(f *testing.F) { fuzzDecode(f, current) }

func FuzzDecodeLegacy(f *testing.F) { fuzzDecode(f, legacy) }

// fuzzDecode: whatever is sent, in pieces of whatever size, decoding ends,
// stays within the limits, and what was understood is what was sent.
func fuzzDecode(f *testing.F, gen generation) {
	limits := Limits{KeyBytes: 64, ValueBytes: 256, RequestKeys: 8, TotalBytes: 8 << 10}
	for _, stream := range [][]byte{
		encode(gen, opSet, "key", "value"),
		encode(gen, opCompareSet, "key", "", "value"),
		encode(gen, opAdd, "key", -1),
		encode(gen, opMultiSet, 2, "a", "1", "b", "2"),
		encode(gen, opWait, 2, "a", ""),
		append(encode(gen, opGetNumKeys), encode(gen, opBarrier, "b", 2)...),
		[]byte("\x0dping\x0dpong"),
	} {
		f.Add(stream, uint8(1))
		f.Add(stream, uint8(100))
	}
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8) {
		var understood []byte
		for {
			q, size := decodeInPieces(t, gen, stream[len(understood):], 1+int(piece), limits)
			if size == 0 {
				break
			}
			understood = append(understood, reencode(gen, q)...)
			if !bytes.HasPrefix(stream, understood) {
				t.Fatalf("understood\n% x\nof\n% x", understood, stream)
			}
		}
	})
}

// decodeInPieces returns the first request of a stream and its size, 0 when
// it is refused or incomplete.
func decodeInPieces(t *testing.T, gen generation, stream []byte, piece int, limits Limits) (request, int) {
	if len(stream) == 0 {
		return request{}, 0
	}
	s, err := scan(gen, stream[0])
	if err != nil {
		return request{}, 0
	}
	for n := min(piece, len(stream)); ; n = min(n+piece, len(stream)) {
		complete, err := s.complete(stream[:n], limits)
		if s.size > n || int64(s.size) > limits.TotalBytes/4 {
			t.Fatalf("%d bytes understood of %d", s.size, n)
		}
		if complete {
			return newRequest(s.op, stream[:s.size]), s.size
		}
		if err != nil || n == len(stream) {
			return request{}, 0
		}
	}
}

func reencode(gen generation, q request) []byte {
	if q.op == opPing {
		return append(encode(gen, q.op), q.take(4)...)
	}
	var arguments []any
	fields, repeated := q.op.fields()
	if repeated != "" {
		n := int(q.number())
		arguments, fields = append(arguments, n), strings.Repeat(repeated, n)
	}
	for _, field := range fields {
		if field == fieldNumber {
			arguments = append(arguments, int(q.number()))
		} else {
			arguments = append(arguments, string(q.blob()))
		}
	}
	return encode(gen, q.op, arguments...)
}
