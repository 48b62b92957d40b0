package tcpstore

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newDecoder(r io.Reader, limits Limits) *decoder {
	return &decoder{r: bufio.NewReaderSize(r, 16), limits: limits, arrived: newBudget(limits.TotalBytes)}
}

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
		err   error
	}{
		{"validate", "\x00\xce\xf7\x85\x3c", current, nil},
		{"legacy set", "\x00\x01\x00\x00\x00\x00\x00\x00\x00k", legacy, nil},
		{"legacy add", "\x03", legacy, nil},
		{"cut short", "\x00\xce\xf7", current, io.EOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDecoder(strings.NewReader(tt.bytes[1:]), defaults(t))
			got, err := d.generation(tt.bytes[0])
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %v, %v, want %v, %v", got, err, tt.want, tt.err)
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
	if diff := cmp.Diff([]operation{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, currentCodes); diff != "" {
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
		err       error
	}{
		{"all is well", opSet, []any{"kkkk", strings.Repeat("v", 800)}, nil},
		{"long key", opSet, []any{"kkkkk", "v"}, errLimit},
		{"long value", opSet, []any{"k", strings.Repeat("v", 1001)}, errLimit},
		{"negative length", opGet, []any{-1}, errLimit},
		{"many keys", opWait, []any{4, "a", "b", "c", "d"}, errLimit},
		{"negative count", opMultiSet, []any{-1}, errLimit},
		{"long in all", opCompareSet, []any{"k", strings.Repeat("v", 500), strings.Repeat("w", 500)}, errLimit},
		{"cut short", opGet, []any{3}, io.EOF},
		{"unknown", 77, nil, errProtocol},
		{"validate again", opValidate, nil, errProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := encode(current, tt.op, tt.arguments...)
			d := newDecoder(bytes.NewReader(b[1:]), limits)
			if _, err := d.request(current, b[0]); !errors.Is(err, tt.err) {
				t.Errorf("got %v, want %v", err, tt.err)
			}
			d.release()
			if left := d.arrived.free.Load(); left != limits.TotalBytes {
				t.Errorf("%d of %d bytes are free after the request", left, limits.TotalBytes)
			}
		})
	}
}

// A length is only an announcement: memory is used for what has arrived.
func TestAnnouncementsTakeNoMemory(t *testing.T) {
	b := encode(current, opSet, "k", 8<<20)
	d := newDecoder(bytes.NewReader(b[1:]), defaults(t))
	if _, err := d.request(current, b[0]); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v", err)
	}
	if d.held > 100<<10 {
		t.Errorf("%d bytes are held for nothing", d.held)
	}
}

func FuzzDecodeCurrent(f *testing.F) { fuzzDecode(f, current) }

func FuzzDecodeLegacy(f *testing.F) { fuzzDecode(f, legacy) }

// fuzzDecode: whatever is sent, decoding ends, stays within the limits, and
// what was understood is what was sent.
func fuzzDecode(f *testing.F, gen generation) {
	limits := Limits{KeyBytes: 64, ValueBytes: 256, RequestKeys: 8, TotalBytes: 8 << 10}
	f.Add(encode(gen, opSet, "key", "value"))
	f.Add(encode(gen, opCompareSet, "key", "", "value"))
	f.Add(encode(gen, opAdd, "key", -1))
	f.Add(encode(gen, opMultiSet, 2, "a", "1", "b", "2"))
	f.Add(encode(gen, opWait, 2, "a", ""))
	f.Add(append(encode(gen, opGetNumKeys), encode(gen, opBarrier, "b", 2)...))
	f.Add([]byte("\x0dping\x0dpong"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		sent := bytes.NewReader(stream)
		d := newDecoder(sent, limits)
		var understood []byte
		for {
			code, err := d.r.ReadByte()
			if err != nil {
				break
			}
			q, err := d.request(gen, code)
			if d.held > limits.TotalBytes/4 {
				t.Fatalf("%d bytes held", d.held)
			}
			d.release()
			if err != nil {
				break
			}
			understood = append(understood, reencode(gen, q)...)
		}
		if !bytes.HasPrefix(stream, understood) {
			t.Errorf("understood\n% x\nof\n% x", understood, stream)
		}
		if left := d.arrived.free.Load(); left != limits.TotalBytes {
			t.Errorf("%d of %d bytes are free in the end", left, limits.TotalBytes)
		}
	})
}

func reencode(gen generation, q request) []byte {
	switch q.op {
	case opSet, opAppend, opQueuePush:
		return encode(gen, q.op, q.key, string(q.value))
	case opCompareSet:
		return encode(gen, q.op, q.key, string(q.expected), string(q.value))
	case opAdd, opBarrier:
		return encode(gen, q.op, q.key, int(q.number))
	case opCheck, opWait, opMultiGet, opMultiSet:
		arguments := []any{len(q.keys)}
		for i, key := range q.keys {
			arguments = append(arguments, key)
			if q.values != nil {
				arguments = append(arguments, string(q.values[i]))
			}
		}
		return encode(gen, q.op, arguments...)
	case opPing:
		return append(encode(gen, q.op), q.nonce[:]...)
	case opGetNumKeys, opCancelWait, opListKeys:
		return encode(gen, q.op)
	default:
		return encode(gen, q.op, q.key)
	}
}
