package output

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// cut returns the lines of a stream that arrives in the given pieces.
func cut(pieces ...string) []string {
	var got []string
	l := lines{emit: func(line []byte) { got = append(got, string(line)) }}
	for _, piece := range pieces {
		l.write([]byte(piece))
	}
	l.flush()
	return got
}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	tests := map[string]struct {
		pieces, want []string
	}{
		"nothing":              {nil, nil},
		"one":                  {[]string{"a\n"}, []string{"a\n"}},
		"several at once":      {[]string{"a\n\nb\n"}, []string{"a\n", "\n", "b\n"}},
		"in pieces":            {[]string{"a", "b", "\nc", "\n"}, []string{"ab\n", "c\n"}},
		"no end":               {[]string{"a\nb"}, []string{"a\n", "b"}},
		"progress":             {[]string{"\r10%", "\r20%", "\rdone\n"}, []string{"\r", "10%\r", "20%\r", "done\n"}},
		"two-byte end":         {[]string{"a\r\nb\r", "\nc\r", "d"}, []string{"a\r\n", "b\r\n", "c\r", "d"}},
		"as long as allowed":   {[]string{long[1:] + "\n"}, []string{long[1:] + "\n"}},
		"too long":             {[]string{long, "y\n"}, []string{long, "y\n"}},
		"cut before character": {[]string{long[1:] + "é\n"}, []string{long[1:], "é\n"}},
		"cut in no character":  {[]string{long[1:] + "\x80\x80\x80\x80\n"}, []string{long[1:] + "\x80", "\x80\x80\x80\n"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, cut(test.pieces...)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLinesLoseNothingHoweverTheStreamIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := rapid.StringOfN(rapid.RuneFrom([]rune("aé\r\n")), 0, 60, -1).Draw(t, "stream")
		at := rapid.IntRange(0, len(stream)).Draw(t, "at")
		whole, pieces := cut(stream), cut(stream[:at], stream[at:])
		if !slices.Equal(whole, pieces) || strings.Join(whole, "") != stream {
			t.Fatalf("%q and %q of %q", whole, pieces, stream)
		}
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\r\nb\rc\n"), 100)
	f.Add([]byte("\xf0\x9f\x98\x80"), 70000)
	f.Fuzz(func(t *testing.T, piece []byte, times int) {
		if len(piece) == 0 || len(piece) > 1000 || times < 0 || times > 200000/len(piece) {
			return
		}
		var got []byte
		l := lines{emit: func(line []byte) {
			if len(line) == 0 || len(line) > maxLine+len(piece) || bytes.Contains(line[:len(line)-1], []byte("\n")) {
				t.Fatalf("emitted %q", line)
			}
			got = append(got, line...)
		}}
		for range times {
			l.write(piece)
		}
		l.flush()
		if !bytes.Equal(got, bytes.Repeat(piece, times)) {
			t.Fatal("lost or changed something")
		}
	})
}

func TestTail(t *testing.T) {
	wide := strings.Repeat("é", tailWidth)
	tests := map[string]struct {
		lines, want []string
	}{
		"nothing":  {nil, nil},
		"progress": {[]string{"start\n", "10%\r", "20%\r", "done\n", "end"}, []string{"start", "done", "end"}},
		"binary":   {[]string{"a\xffb\n"}, []string{"a\uFFFDb"}},
		"wide":     {[]string{wide + "\n"}, []string{wide[:tailWidth]}},
	}
	for name, test := range tests {
		var kept Tail
		for _, line := range test.lines {
			kept.add([]byte(line))
		}
		if diff := cmp.Diff(test.want, kept.Lines()); diff != "" {
			t.Error(name, diff)
		}
	}
	var kept Tail
	for i := range tailLines + 5 {
		kept.add([]byte(string(rune('a'+i)) + "\n"))
	}
	last := kept.Lines()
	if len(last) != tailLines || last[0] != "f" || !utf8.ValidString(last[0]) {
		t.Errorf("kept %q", last)
	}
}

// BenchmarkLineWithoutEnd is 64 MiB without an end of a line, in pieces as a pipe gives them.
func BenchmarkLineWithoutEnd(b *testing.B) {
	piece := bytes.Repeat([]byte("x"), readSize)
	const pieces = 1024
	b.SetBytes(pieces * readSize)
	for b.Loop() {
		l := lines{emit: func([]byte) {}}
		for range pieces {
			l.write(piece)
		}
		l.flush()
	}
}

// However a stream is cut into pieces, its lines are the same.
func TestLinesDoNotDependOnThePieces(t *testing.T) {
	text := []byte("a\nbb\r\n\r\rccc\r" + strings.Repeat("long", maxLine/3) + "\r\n\n" +
		strings.Repeat("é", maxLine) + "\rend\r")
	cut := func(size int) (all []string) {
		l := lines{emit: func(line []byte) { all = append(all, string(line)) }}
		for piece := range slices.Chunk(text, size) {
			l.write(piece)
		}
		l.flush()
		return all
	}
	want := cut(len(text))
	if got := strings.Join(want, ""); got != string(text) || len(want) < 9 {
		t.Fatalf("%d lines with %d of %d bytes", len(want), len(got), len(text))
	}
	for _, size := range []int{97, 4096, readSize - 1, maxLine, maxLine + 1} {
		if diff := cmp.Diff(want, cut(size)); diff != "" {
			t.Errorf("pieces of %d bytes: the lines differ", size)
		}
	}
}
