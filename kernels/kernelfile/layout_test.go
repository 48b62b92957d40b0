package kernelfile

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// cType is a type of C by its rule: the text of the argument, size and alignment, and the offsets and values of the
// numbers in it.
type cType struct {
	text        string
	size, align int
	numbers     []cNumber
}

type cNumber struct {
	at, size int
	value    uint64
}

// drawNumber is a number whose value tells it from others.
func drawNumber(t *rapid.T, next *uint64) cType {
	size := rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "size")
	*next++
	value := *next & (1<<(8*size-1) - 1)
	return cType{fmt.Sprintf("{u%d = %d}", 8*size, value), size, size, []cNumber{{0, size, value}}}
}

func drawType(t *rapid.T, depth int, next *uint64) cType {
	if depth == 0 || rapid.Bool().Draw(t, "number") {
		return drawNumber(t, next)
	}
	var members []cType
	for range rapid.IntRange(1, 5).Draw(t, "members") {
		members = append(members, drawType(t, depth-1, next))
	}
	s := structure(members)
	texts := []string{}
	for _, m := range members {
		texts = append(texts, m.text)
	}
	s.text = "{struct = [" + strings.Join(texts, ", ") + "]}"
	if align := rapid.SampledFrom([]int{0, 1, 16, 64}).Draw(t, "align"); align > 0 {
		s.text = strings.TrimSuffix(s.text, "}") + fmt.Sprintf(", align = %d}", align)
		s.align = max(s.align, align)
		for s.size%s.align != 0 {
			s.size++
		}
	}
	return s
}

// structure puts each member at the next multiple of its alignment. The size is a multiple of the largest alignment.
func structure(members []cType) cType {
	s := cType{align: 1}
	for _, m := range members {
		for s.size%m.align != 0 {
			s.size++
		}
		for _, n := range m.numbers {
			s.numbers = append(s.numbers, cNumber{s.size + n.at, n.size, n.value})
		}
		s.size += m.size
		s.align = max(s.align, m.align)
	}
	for s.size%s.align != 0 {
		s.size++
	}
	return s
}

func TestStructsAreLaidOutAsInC(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		next := uint64(0)
		var args []cType
		var texts []string
		for range rapid.IntRange(1, 4).Draw(r, "arguments") {
			arg := drawType(r, 3, &next)
			args, texts = append(args, arg), append(texts, arg.text)
		}
		step, _, err := bindArgs(t, strings.Join(texts, ", "))
		if err != nil {
			r.Fatal(err)
		}
		all := structure(args)
		want := make([]byte, all.size)
		for _, n := range all.numbers {
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], n.value)
			copy(want[n.at:n.at+n.size], word[:])
		}
		// The parameters end with the last argument, without padding.
		got := append(step.Params, make([]byte, all.size-len(step.Params))...)
		if string(got) != string(want) {
			r.Fatalf("%s\n%x, want\n%x", strings.Join(texts, ", "), got, want)
		}
		if n := len(step.Fields); n != len(args) || step.Fields[n-1].Bytes != args[n-1].size || step.Fields[0].At != 0 {
			r.Fatalf("fields %+v", step.Fields)
		}
	})
}
