package main

import "testing"

// On a narrow terminal paragraphs are broken again, lists stay, and what is said about an example comes first.
func TestHelpOnANarrowTerminal(t *testing.T) {
	text := "one two three four five\nsix seven\n\n  name   a list stays as it is"
	want := "one two three\nfour five six\nseven\n\n  name   a list stays as it is"
	if got := reflow(text, 13); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := reflow(text, helpWidth); got != text {
		t.Errorf("%q", got)
	}
	examples := "  gpurun list\n  gpurun smoke          is this machine right?\n                        and fast?"
	want = "  gpurun list\n  # is this machine right?\n  gpurun smoke\n                        and fast?"
	if got := fitExamples(examples, 40); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
