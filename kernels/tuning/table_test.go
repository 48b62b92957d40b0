package tuning

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"pgregory.net/rapid"

	"gpurun/kernels/collective"
)

const head = `gpu = "NVIDIA H200"
compute = "9.0"
driver = "580.159.04"
measured = "2026-11-21"
dtype = "bfloat16"
`

// rule writes one; upTo may be empty.
func rule(collective, world, upTo, algorithm string) string {
	text := "[[rule]]\ncollective = \"" + collective + "\"\nworld = " + world + "\nalgorithm = \"" + algorithm + "\"\n"
	if upTo != "" {
		text += "up_to = " + upTo + "\n"
	}
	return text
}

// norm writes a rule for rows that are normalized; upTo and hidden may be empty.
func norm(upTo, hidden string) string {
	text := rule("allreduce", "4", upTo, "oneshot_ll") + "epilogue = \"rmsnorm\"\n"
	if hidden != "" {
		text += "hidden = " + hidden + "\n"
	}
	return text
}

func TestParse(t *testing.T) {
	got, err := Parse("h200.toml",
		[]byte(head+rule("allreduce", "4", `"64K"`, "oneshot")+"blocks = 8\n"+rule("allreduce", "4", "", "twoshot")+
			"measured = \"2026-11-28\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Table{
		GPU: "NVIDIA H200", Compute: "9.0", Driver: "580.159.04", Measured: "2026-11-21", DType: "bfloat16",
		Rules: []Rule{
			{Collective: "allreduce", World: 4, UpTo: 64 << 10, Algorithm: "oneshot", Blocks: 8},
			{Collective: "allreduce", World: 4, Algorithm: "twoshot", Measured: "2026-11-28"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefuses(t *testing.T) {
	last := rule("allreduce", "4", "", "twoshot")
	for _, c := range []struct{ name, text, want string }{
		{"no TOML", "gpu = \n", "x.toml:1: "},
		{"unknown key", head + "color = 1\n", `x.toml:6: unknown key "color"; there are gpu,`},
		{"unknown key of a rule", head + last + "color = 1\n", `x.toml:10: unknown key "rule.color"`},
		{"type", head + "[[rule]]\nworld = \"four\"\n", "x.toml:7: "},
		{"compute", strings.Replace(head, "9.0", "9", 1), `compute "9" is not a compute capability; write for example "9.0"`},
		{"day", strings.Replace(head, "11-21", "21-11", 1), `measured "2026-21-11" is not a day`},
		{"day of a rule", head + last + "measured = \"21.11.\"\n", `rule 1: measured "21.11." is not a day`},
		{"bare day", strings.Replace(head, `"2026-11-21"`, "2026-11-21", 1), `write it in quotes, for example "2026-11-21"`},
		{"dtype", strings.Replace(head, "bfloat16", "bf17", 1), `no element type "bf17"`},
		{"gpu", strings.Replace(head, "NVIDIA H200", "", 1), "gpu is missing"},
		{"collective", head + rule("allredcue", "4", "", "naive"), `x.toml:6: rule 1: there is no collective "allredcue"`},
		{"alias", head + rule("all-reduce", "4", "", "naive"), `no collective "all-reduce"`},
		{"algorithm", head + rule("allgather", "4", "", "twoshot"), `x.toml:6: rule 1: allgather has no algorithm "twoshot"`},
		{"world", head + rule("allreduce", "0", "", "naive"), "world 0 is not between"},
		{"blocks", head + last + "blocks = 100000\n", "blocks 100000 is not between"},
		{
			"epilogue", head + last + "epilogue = \"rmsnrom\"\n",
			`allreduce twoshot has no epilogue "rmsnrom"; "gpurun list --output json"`,
		},
		{
			"epilogue of another", head + rule("allgather", "4", "", "pull") + "epilogue = \"rmsnorm\"\n",
			`allgather pull has no epilogue "rmsnorm"`,
		},
		{
			"limited epilogue", head + last + rule("allreduce", "4", `"4K"`, "oneshot") + "epilogue = \"bias\"\n",
			"it is the last for allreduce with bias among 4 ranks",
		},
		{"size", head + rule("allreduce", "4", `"64KB"`, "naive") + last, `size "64KB" is not a whole number`},
		{"negative size", head + rule("allreduce", "4", "-1", "naive") + last, "-1"},
		{
			"negative row", head + norm("", "-8"),
			"x.toml:6: rule 1: hidden -8 is not between 1 and 1073741824; leave the key out",
		},
		{
			"endless row", head + norm("", "") + norm("", "4611686018427387912"),
			"rule 2: hidden 4611686018427387912 is not between",
		},
		{
			"row without epilogue", head + last + "hidden = 8192\n",
			`is the length of an epilogue's rows, and allreduce has none; leave it out, or name the epilogue`,
		},
		{
			"row of an epilogue without", head + last + "epilogue = \"negate\"\nhidden = 8192\n",
			`and allreduce with negate has none`,
		},
		{"row that is no number", head + last + "epilogue = \"bias\"\nhidden = \"8K\"\n", "x.toml:11: "},
		{
			"cut row", head + norm("", "") + norm("", "8188"),
			"x.toml:11: rule 2: hidden 8188 is of no use here: epilogue rmsnorm: a row of 8188 elements is not a multiple of " +
				"16 bytes; correct it",
		},
		{
			"long row", head + norm("", "") + norm("", "32768"),
			"hidden 32768 is of no use here: allreduce oneshot_ll normalizes rows of up to",
		},
		{
			"other rows", head + last + norm(`"4K"`, "8192"),
			"x.toml:10: rule 2: rows of other lengths have no rules for allreduce with rmsnorm among 4 ranks; " +
				"add some without hidden",
		},
		{
			"other rows of other ranks", head + strings.Replace(norm("", ""), "4", "2", 1) + norm(`"4K"`, "8192"),
			"rows of other lengths have no rules",
		},
		{
			"unsorted rows", head + norm("", "") + norm(`"4K"`, "8192") + norm(`"2K"`, "8192"),
			`rule 3: up_to "2K" is not above the "4K"`,
		},
		{
			"scattered rows", head + norm(`"4K"`, "8192") + norm("", "") + norm("", "8192"),
			"rule 3: rules for allreduce with rmsnorm of 8192 among 4 ranks stand further up",
		},
		{"limited, but for some rows", head + norm(`"4K"`, ""), "it is the last for allreduce with rmsnorm among 4 ranks"},
		{
			"limited", head + rule("allreduce", "4", `"64K"`, "naive"),
			"x.toml:6: rule 1: it is the last for allreduce among 4 ranks",
		},
		{"unlimited in between", head + last + last, "x.toml:10: rule 2: the rule before has no up_to"},
		{
			"unsorted", head + rule("allreduce", "4", `"64K"`, "naive") + rule("allreduce", "4", `"4K"`, "oneshot") + last,
			`x.toml:11: rule 2: up_to "4K" is not above the "64K"`,
		},
		{
			"overlapping", head + rule("allreduce", "4", `"64K"`, "naive") + rule("allreduce", "4", `"64K"`, "oneshot") + last,
			"sort the rules by size",
		},
		{
			"scattered", head + last + rule("allreduce", "2", "", "naive") + last,
			"x.toml:14: rule 3: rules for allreduce among 4 ranks stand further up",
		},
	} {
		if _, err := Parse("x.toml", []byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "x.toml:") {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

func TestOnly(t *testing.T) {
	ts := Tables{
		{GPU: "A", Rules: []Rule{{Collective: "allreduce"}, {Collective: "allgather"}}},
		{GPU: "B", Rules: []Rule{{Collective: "allreduce"}}},
	}
	want := Tables{{GPU: "A", Rules: []Rule{{Collective: "allgather"}}}}
	if diff := cmp.Diff(want, ts.Only("allgather")); diff != "" {
		t.Error(diff)
	}
	if len(ts[0].Rules) != 2 {
		t.Error("the tables themselves changed")
	}
}

// TestWritten checks that a written table is read back unchanged, as TOML and as JSON.
func TestWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := rapid.SliceOfNDistinct(rapid.Int64Min(1), 0, 5, rapid.ID).Draw(t, "limits")
		slices.Sort(limits)
		want := Table{GPU: "X", Compute: "10.3", Measured: "2026-11-21", DType: "float"}
		for _, limit := range append(limits, 0) {
			blocks := rapid.IntRange(0, 96).Draw(t, "blocks")
			want.Rules = append(want.Rules,
				Rule{Collective: "allreduce", World: 4, UpTo: Size(limit), Algorithm: "oneshot", Blocks: blocks})
		}
		want.Rules = append(want.Rules,
			Rule{Collective: "allreduce", World: 2, Epilogue: collective.RMSNorm, Algorithm: "twoshot"})
		for _, hidden := range rapid.SliceOfNDistinct(rapid.Int64Range(1, 1024), 0, 3, rapid.ID).Draw(t, "hidden") {
			want.Rules = append(want.Rules, Rule{
				Collective: "allreduce", World: 2, Epilogue: collective.RMSNorm, Hidden: 8 * hidden,
				UpTo: Size(rapid.Int64Range(0, 1<<40).Draw(t, "up to")), Algorithm: "oneshot",
			})
		}
		text, err := toml.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse("x", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		text, err = json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var again Table
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, again); diff != "" {
			t.Error(diff)
		}
	})
}

// FuzzParse checks that a table that is accepted has an answer for every size.
func FuzzParse(f *testing.F) {
	f.Add([]byte(head))
	f.Add([]byte(head + rule("allreduce", "4", `"64K"`, "oneshot") + rule("allreduce", "4", "", "twoshot")))
	f.Add([]byte(head + norm(`"2M"`, "4096") + norm(`"64K"`, "") + norm("", "")))
	f.Add([]byte(head + rule("allgather", "2", "-5", "pull") + rule("allgather", "2", "12", "pull")))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := Parse("x", text)
		if err != nil {
			return
		}
		for _, r := range table.Rules {
			for _, bytes := range []int64{0, int64(r.UpTo), int64(r.UpTo) + 1, 1 << 62} {
				q := Query{
					Collective: r.Collective, World: r.World, Epilogue: r.Epilogue, Hidden: r.Hidden, Bytes: bytes,
					Able: func(string) bool { return true },
				}
				if _, ok := (Tables{table}).Choose(q); !ok {
					t.Fatalf("no choice for %d bytes in\n%s", bytes, text)
				}
			}
		}
	})
}

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "28": 28, "64K": 64 << 10, "3M": 3 << 20, "2G": 2 << 30, "2048G": 2 << 40,
	} {
		var got Size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%d is written %q, want %q", got, got, text)
		}
	}
	for _, text := range []string{"", "K", "1KK", "-1", "+1", "1k", "1.5K", "9223372036854775807K", "01K "} {
		var got Size
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %d, want an error", text, got)
		}
	}
}
