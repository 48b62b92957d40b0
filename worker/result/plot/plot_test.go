package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpurun/worker/golden"
)

func kilobytes(x float64) string { return fmt.Sprintf("%gK", x/1024) }

// panels are latency and bandwidth of two algorithms, and one that has no points.
func panels() []Panel {
	var slow, fast, slowRate, fastRate []Point
	for e := 10; e <= 28; e += 2 {
		bytes := math.Ldexp(1, e)
		s, f := 5+bytes/2e5, 12+bytes/3.6e5
		slow, fast = append(slow, Point{bytes, s}), append(fast, Point{bytes, f})
		slowRate, fastRate = append(slowRate, Point{bytes, bytes / s / 1e3}), append(fastRate, Point{bytes, bytes / f / 1e3})
	}
	return []Panel{
		{
			Title: "Latency <float>", XLabel: "size (bytes)", YLabel: "time (us)", XTick: kilobytes,
			Lines: []Line{{"oneshot", slow}, {"twoshot", fast}, {"none", nil}},
		},
		{
			Title: "Bus bandwidth", XLabel: "size (bytes)", YLabel: "busbw (GB/s)", XTick: kilobytes,
			Lines: []Line{{"oneshot", slowRate}, {"twoshot", fastRate}, {"none", []Point{{0, 1}, {1, 0}}}},
			Level: &Level{"link ceiling", 390},
		},
		{Title: "Nothing", XLabel: "size", YLabel: "time", XTick: kilobytes, Lines: []Line{{"empty", []Point{{0, 3}}}}},
	}
}

func TestSVGGolden(t *testing.T) {
	var out bytes.Buffer
	if err := SVG(&out, "allreduce & co on 4 GPUs", panels()); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, out.Bytes())
	golden.Check(t, "panels.svg", out.Bytes())
}

func wellFormed(t *testing.T, text []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestTextGolden(t *testing.T) {
	var out bytes.Buffer
	for _, width := range []int{80, 40} {
		for _, p := range panels() {
			if err := Text(&out, p, width, 12); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&out)
		}
	}
	golden.Check(t, "panels.txt", out.Bytes())
}

// A terminal that is too narrow for the title shows what the axis has in a line of its own.
func TestLongTitle(t *testing.T) {
	p := Panel{Title: strings.Repeat("allreduce ", 7) + "float", YLabel: "bus bandwidth (GB/s)"}
	for width, want := range map[int]string{120: "float: bus bandwidth (GB/s)\n", 80: "float:\nbus bandwidth (GB/s)\n"} {
		var b strings.Builder
		if err := Text(&b, p, width, MinTextHeight); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%d columns: %q, %v", width, b.String(), err)
		}
	}
}

// Whatever the points, nothing is wider than asked for, nothing fails, and every
// line that has a point is seen.
func TestTextStaysInBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(-1, 1e12), rapid.Float64(), rapid.Just(math.Inf(1)), rapid.Just(math.NaN()))
		points := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Point {
			return Point{value.Draw(t, "x"), value.Draw(t, "y")}
		}), 0, 20)
		p := Panel{
			Title: rapid.StringMatching(`[a-zä]{0,90}`).Draw(t, "title"), XLabel: "size", YLabel: "time", XTick: kilobytes,
			Lines: []Line{{"first", points.Draw(t, "a")}, {"second", points.Draw(t, "b")}},
			Level: &Level{"level", value.Draw(t, "level")},
		}
		width, height := rapid.IntRange(0, 200).Draw(t, "width"), rapid.IntRange(0, 40).Draw(t, "height")
		var out bytes.Buffer
		if err := Text(&out, p, width, height); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(width, MinTextWidth) {
				t.Errorf("a line of %d characters: %s", n, line)
			}
		}
		if err := SVG(io.Discard, "any", []Panel{p}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		want2       []float64
		want10      []float64
	}{
		{1, 16, []float64{1, 4, 16}, []float64{1, 2, 5, 10}},
		{3, 5, []float64{4}, []float64{5}},
		{1000, 1e8, []float64{1 << 10, 1 << 16, 1 << 22}, []float64{1e3, 1e5, 1e7}},
		{0.03, 0.4, []float64{1.0 / 32, 1.0 / 8}, []float64{0.05, 0.1, 0.2}},
	} {
		a := axis{c.least, c.most}
		if diff := cmp.Diff(c.want2, a.powersOf2(3)); diff != "" {
			t.Errorf("%v: %s", a, diff)
		}
		near := cmp.Comparer(func(x, y float64) bool { return math.Abs(x-y) < 1e-9*x })
		if diff := cmp.Diff(c.want10, a.decades(4), near); diff != "" {
			t.Errorf("%v: %s", a, diff)
		}
	}
}

// With values at the limits of the drawable range, the ticks' loops end.
func TestExtremes(t *testing.T) {
	for _, v := range []float64{1e-150, 1, 1e150, 1e-320, math.MaxFloat64} {
		for _, w := range []float64{1e-150, 1e150, math.Inf(1)} {
			p := Panel{XTick: kilobytes, Lines: []Line{{"extreme", []Point{{v, w}, {1, 1}, {w, v}}}}, Level: &Level{"level", w}}
			if err := errors.Join(Text(io.Discard, p, 80, 12), SVG(io.Discard, "extremes", []Panel{p})); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestDecimal(t *testing.T) {
	for v, want := range map[float64]string{1: "1", 0.05: "0.05", 500000: "500000", 1e7: "1e+07", 1e-5: "1e-05"} {
		if got := decimal(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
