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
		got := visible(test.value, uuids)
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("CUDA_VISIBLE_DEVICES=%q: %s", test.value, diff)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, value := range []string{"0,1", "GPU-aaaa0001,GPU-b", "-1", "3,2,1,0", "1x,+2", ",", "GPU-,GPU-", "18446744073709551616"} {
		f.Add(value, 4)
	}
	f.Fuzz(func(t *testing.T, value string, count int) {
		count = min(max(count, 0), 64)
		var uuids []string
		for i := range count {
			uuids = append(uuids, fmt.Sprintf("GPU-%08x", i*7))
		}
		seen := map[int]bool{}
		for _, index := range visible(value, uuids) {
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
