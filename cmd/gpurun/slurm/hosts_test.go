package slurm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestHosts(t *testing.T) {
	for list, want := range map[string]string{
		"login2":                  "login2",
		"node[01-03,7],login2":    "node01 node02 node03 node7 login2",
		"a[1-2]b[3-4]":            "a1b3 a1b4 a2b3 a2b4",
		"n[08-10]-ib.example":     "n08-ib.example n09-ib.example n10-ib.example",
		"n[8-010]":                "n8 n9 n10",
		"n[001-2],m":              "n001 n002 m",
		"n[09-11,100]":            "n09 n10 n11 n100",
		"[1-2]":                   "1 2",
		"n[1-2][3-4]":             "n13 n14 n23 n24",
		"n[1-2]m[1-2]k[1-2],x":    "n1m1k1 n1m1k2 n1m2k1 n1m2k2 n2m1k1 n2m1k2 n2m2k1 n2m2k2 x",
		"x1000c[0-1]s0b[0-1]n[0]": "x1000c0s0b0n0 x1000c0s0b1n0 x1000c1s0b0n0 x1000c1s0b1n0",
		"192.0.2.[9-10]":          "192.0.2.9 192.0.2.10",
		"n[1,1]":                  "n1 n1",
	} {
		got, err := Hosts(list)
		if diff := cmp.Diff(strings.Fields(want), got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", list, err, diff)
		}
	}
}

func TestHostsRefuses(t *testing.T) {
	for list, want := range map[string]string{
		"":                                      "a name is empty",
		"a,,b":                                  "a name is empty",
		"a, b":                                  "there is ' ' in it",
		"n[1-2":                                 "a bracket is not closed",
		"n1]":                                   "a bracket is closed that was not opened",
		"a[1-2[3-4]]":                           "a bracket is within another",
		"n[3-1]":                                `"3-1" is neither a number nor a range`,
		"n[]":                                   `"" is neither a number`,
		"n[1,]":                                 `"" is neither a number`,
		"n[1-]":                                 `"1-" is neither`,
		"n[a-b]":                                `"a-b" is neither`,
		"n[1--2]":                               `"1--2" is neither`,
		"n[-2]":                                 `"-2" is neither`,
		"n[+2]":                                 `"+2" is neither`,
		"n[5000000000]":                         `"5000000000" is neither`,
		"n[0-65536]":                            "it has more than 65536 hosts",
		"n[0-4294967295]":                       "it has more than 65536 hosts",
		"n[0-999]m[0-99]":                       "it has more than 65536 hosts",
		"n[0-40000],m[0-40000]":                 "it has more than 65536 hosts",
		"a[0-9]b[0-9]c[0-9]d[0-9]e[0-9]f[0-9]g": "it has more than 65536 hosts",
	} {
		if got, err := Hosts(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d hosts, %v\nwant %s", list, len(got), err, want)
		}
	}
	if got, err := Hosts("n[0-65535]"); err != nil || len(got) != maxHosts {
		t.Errorf("%d hosts, %v", len(got), err)
	}
}

// However names are put together, they come apart again.
func TestHostsExpandWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list, want []string
		for range rapid.IntRange(1, 4).Draw(t, "names") {
			text := rapid.StringMatching(`[a-z][a-z0-9.-]{0,3}`).Draw(t, "prefix")
			hosts := []string{text}
			for range rapid.IntRange(0, 2).Draw(t, "brackets") {
				first, width := rapid.IntRange(0, 120).Draw(t, "first"), rapid.IntRange(1, 4).Draw(t, "width")
				last := first + rapid.IntRange(0, 5).Draw(t, "more")
				suffix := rapid.StringMatching(`[a-z.-]{0,2}`).Draw(t, "suffix")
				text += fmt.Sprintf("[%0*d-%d]%s", width, first, last, suffix)
				var longer []string
				for _, host := range hosts {
					for n := first; n <= last; n++ {
						longer = append(longer, fmt.Sprintf("%s%0*d%s", host, width, n, suffix))
					}
				}
				hosts = longer
			}
			list, want = append(list, text), append(want, hosts...)
		}
		got, err := Hosts(strings.Join(list, ","))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v: %v\n%s", list, err, diff)
		}
	})
}

func FuzzHosts(f *testing.F) {
	for _, list := range []string{
		"node[01-03,7],login2", "a[1-2]b[3-4]", "n[0-65535]", "n[1-2", "n[[1]]", "a,,b", "n[4294967295-4294967295]",
	} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		hosts, err := Hosts(list)
		if err != nil {
			if hosts != nil {
				t.Errorf("%q: %v and %v", list, hosts, err)
			}
			return
		}
		if len(hosts) == 0 || len(hosts) > maxHosts || slices.ContainsFunc(hosts, func(host string) bool {
			return host == "" || strings.ContainsAny(host, "[], ")
		}) {
			t.Fatalf("%q: %d hosts", list, len(hosts))
		}
		if again, err := Hosts(strings.Join(hosts, ",")); err != nil || !slices.Equal(again, hosts) {
			t.Errorf("%q: the hosts themselves are not a list of hosts: %v", list, err)
		}
	})
}

func TestTasksPerNode(t *testing.T) {
	for text, want := range map[string][]int{
		"1": {1}, "4(x2),3": {4, 4, 3}, "2,1(x3)": {2, 1, 1, 1}, "128(x1)": {128},
	} {
		got, err := parseTasksPerNode(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for _, text := range []string{
		"", "0", "x", "4(x2", "4(2)", "4x2", "4(x0)", "4(x)", "(x2)", "1,,1", "-1", "1(x2)3", "1(x4294967295)", "1(x65536),1",
		"99999999",
	} {
		if got, err := parseTasksPerNode(text); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func FuzzTasksPerNode(f *testing.F) {
	for _, text := range []string{"4(x2),3", "1(x65536)", "4(x", ",", "16777215"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tasks, err := parseTasksPerNode(text)
		if err == nil && (len(tasks) == 0 || len(tasks) > maxHosts || slices.Min(tasks) < 1) {
			t.Errorf("%q: %v", text, tasks)
		}
	})
}
