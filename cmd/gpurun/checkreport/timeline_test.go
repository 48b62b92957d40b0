package checkreport

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// The picture is XML with a lane for each actor, a tooltip for each event, and a line between the sides of a race.
func TestTimeline(t *testing.T) {
	f := sample().Findings[0]
	events := []Event{
		{Side: f.Sides[0], Where: "rank 1's <data> at +0x0"},
		{Side: f.Flag[0], Release: true},
		{Side: Side{Rank: 1, Kernel: "ping", Block: 2, Warp: 3}, Barrier: true},
		{Side: f.Sides[1]},
		{Side: Side{Rank: 1, Command: "stream 1", Action: "writes", Instruction: "copy"}},
	}
	var out bytes.Buffer
	if err := WriteTimeline(&out, f, events); err != nil {
		t.Fatal(err)
	}
	elements := map[string]int{}
	for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements[start.Name.Local]++
		}
	}
	if elements["title"] != len(events) || elements["line"] != 3+1 {
		t.Errorf("%v", elements)
	}
	for _, want := range []string{
		">rank 1 stream 1</text>", "rank 1&#39;s &lt;data&gt; at +0x0</title>", "src/ping it.cu:11", "stroke-dasharray",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if err := WriteTimeline(&out, Finding{}, nil); err != nil {
		t.Error(err)
	}
}
