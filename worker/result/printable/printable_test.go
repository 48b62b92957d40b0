package printable

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"plain, ünï, 漢字, ⣿, \ufffd\n\t": "plain, ünï, 漢字, ⣿, \ufffd\n\t",
		"\x1b[31mred\x1b[0m":            `\u001b[31mred\u001b[0m`,
		"a\rb\x00\x07\x7f":              `a\u000db\u0000\u0007\u007f`,
		"CSI \u009b, rtl \u202e":        `CSI \u009b, rtl \u202e`,
		"tag \U000e0041":                `tag \udb40\udc41`,
		"latin \xe9, cut \xe6\xbc":      `latin \xe9, cut \xe6\xbc`,
	} {
		if got := Text(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// JSON that passes through Text means the same.
func TestJSONKeepsItsMeaning(t *testing.T) {
	const text = "a\x1b \x7f \u009b \u202e \U000e0041 ü"
	written, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	var read string
	if err := json.Unmarshal([]byte(Text(string(written))), &read); err != nil || read != text {
		t.Errorf("%q, %v", read, err)
	}
}

func TestWhole(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "ü": 2, "ü\xc3": 2, "漢\xe6\xbc": 3, "\xf0\x9f\x98": 0, "\xff": 1,
	} {
		if whole, rest := Whole([]byte(text)); len(whole) != want || !slices.Equal(append(whole, rest...), []byte(text)) {
			t.Errorf("%q: %q, %q", text, whole, rest)
		}
	}
}
