package settings

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/result"
)

func TestByteSize(t *testing.T) {
	for text, want := range map[string]ByteSize{
		"0": 0, "28": 28, "1K": 1 << 10, "4k": 4 << 10, "64M": 64 << 20, "2g": 2 << 30, "0G": 0,
		"9223372036854775807": math.MaxInt64, "8589934591G": 8589934591 << 30,
	} {
		var got ByteSize
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestByteSizeRefuses(t *testing.T) {
	for text, hint := range map[string]string{
		"": "4K", "K": "4K", "x": "4K", "-1": "4K", "+1": "4K", " 1": "4K",
		"1.5K": "1536K for 1.5M", "1KB": `"1K"`, "1KiB": `"1K"`, "2 M": `"2M"`, "1T": "4K", "1e3": "4K", "1KK": `"1K"`,
		"8589934592G": "too large", "9223372036854775808": "too large",
	} {
		var got ByteSize
		if err := got.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%q is %d, %v; want an error with %s", text, got, err, hint)
		}
	}
}

// FuzzByteSize checks that a size that is accepted survives being written and
// read again.
func FuzzByteSize(f *testing.F) {
	for _, text := range []string{
		"0", "1K", "64M", "1G", "9223372036854775807", "1.5K", "K", "-1", "1KiB", "99999999999G",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var size, again ByteSize
		if size.UnmarshalText([]byte(text)) != nil {
			return
		}
		if size < 0 {
			t.Fatalf("%q is %d", text, size)
		}
		written := result.FormatSize(int64(size))
		if err := again.UnmarshalText([]byte(written)); err != nil || again != size {
			t.Fatalf("%q is %d, written %q, read %d, %v", text, size, written, again, err)
		}
	})
}

func TestSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30": 30 * time.Second, "0.25": 250 * time.Millisecond, "1m30s": 90 * time.Second, "200ms": 200 * time.Millisecond,
	} {
		var got Seconds
		if err := got.UnmarshalText([]byte(text)); err != nil || time.Duration(got) != want {
			t.Errorf("%q is %v, %v; want %v", text, time.Duration(got), err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "0s", "soon", "1e400", "NaN"} {
		var got Seconds
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v, want an error", text, time.Duration(got))
		}
	}
}

func TestProcesses(t *testing.T) {
	for text, want := range map[string]Processes{
		"": {}, "auto": {Word: "auto"}, "gpu": {Word: "gpu"}, "cpu": {Word: "cpu"}, "1": {Number: 1}, "72": {Number: 72},
	} {
		var got Processes
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "-1", "1.5", "all", strconv.Itoa(math.MaxInt) + "0"} {
		var got Processes
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

// Lists of numbers are read as flags, files and the environment write them.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]Numbers{
		"4096": {4096}, "1024,2048": {1024, 2048}, "1024, 2048": {1024, 2048}, "[8 16]": {8, 16},
		"": nil, "0": nil, "-8": nil, "8,x": nil, "1.5": nil, "4K": nil, "99999999999999999999": nil,
	} {
		var got Numbers
		err := got.UnmarshalText([]byte(text))
		if (err == nil) != (want != nil) {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if got := (Numbers{4096, 8192}).String(); got != "4096,8192" {
		t.Errorf("written %q", got)
	}
}

func TestNodeCount(t *testing.T) {
	for text, want := range map[string]NodeCount{"1": 1, "16": 16, "1:1": 1, "3:3": 3} {
		var got NodeCount
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "1:2", "x", "1:", ":", "2x"} {
		if err := new(NodeCount).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
