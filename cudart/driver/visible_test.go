package driver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestVisible(t *testing.T) {
	uuids := []string{"GPU-aaaa0001", "GPU-aaaa0002", "GPU-bbbb0003", "GPU-cccc0004"}
	for _, test := range []struct {
		value string
		want  []int
	}{
		{"0", []int{0}},
		{"3,1", []int{3, 1}},
		{" 2 , 0 ", []int{2, 0}},
		{"", nil},
		{"-1", nil},
		{"1,-1,2", []int{1}},
		{"1,4,2", []int{1}},
		{"1,,2", []int{1}},
		{"none", nil},
		{"1,1", nil},
		{"0,2,0", nil},
		{"1gpu2,2ampere", []int{1, 2}},
		{"+1", []int{1}},
		{"99999999999999999999", nil},
		{"GPU-b", []int{2}},
		{"GPU-cccc0004,GPU-aaaa0001", []int{3, 0}},
		{"GPU-aaaa,GPU-b", nil}, // two GPUs begin like that
		{"GPU-b,GPU-aaaa,GPU-c", []int{2}},
		{"GPU-b,GPU-bbbb", nil},
		{"GPU-b,0", []int{2}},
		{"0,GPU-b", []int{0}},
		{"GPU-", nil},
		{"gpu-b", nil},
	} {
		got, err := Visible(test.value, uuids)
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q: %s", test.value, diff)
		}
		if all := len(got) == strings.Count(test.value, ",")+1; all != (err == nil) {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q leaves %d GPUs, and the complaint is: %v", test.value, len(got), err)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, value := range []string{
		"0,1", "GPU-aaaa0001,GPU-b", "-1", "3,2,1,0", "1x,+2", ",", "GPU-,GPU-", "18446744073709551616",
	} {
		f.Add(value, 4)
	}
	f.Fuzz(func(t *testing.T, value string, count int) {
		count = min(max(count, 0), 64)
		var uuids []string
		for i := range count {
			uuids = append(uuids, fmt.Sprintf("GPU-%08x", i*7))
		}
		seen := map[int]bool{}
		chosen, _ := Visible(value, uuids)
		for _, index := range chosen {
			if index < 0 || index >= count || seen[index] {
				t.Errorf("%q of %d: index %d is out of range or doubled", value, count, index)
			}
			seen[index] = true
		}
		if len(seen) > strings.Count(value, ",")+1 {
			t.Errorf("%q chose %d GPUs", value, len(seen))
		}
	})
}

// The entry that CUDA does not take is named.
func TestVisibleSaysWhatIsNotTaken(t *testing.T) {
	uuids := []string{"GPU-aaaa0001", "GPU-aaaa0002"}
	for value, want := range map[string]string{
		"1,7,0":    `the entry "7" does not name exactly one of the 2 GPUs; CUDA ignores it and all after it`,
		"GPU-aaaa": `the entry "GPU-aaaa" does not name exactly one of the 2 GPUs`,
		"1, 1":     `the entry "1" names GPU 1 a second time; CUDA then shows no GPU at all`,
	} {
		if _, err := Visible(value, uuids); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", value, err, want)
		}
	}
}
