package tuning

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/collective"
)

// plain is a rule for calls without epilogue.
func plain(collective string, world int, upTo Size, algorithm string, blocks int) Rule {
	return Rule{Collective: collective, World: world, UpTo: upTo, Algorithm: algorithm, Blocks: blocks}
}

// measured are three models: one for 2 and 4 ranks, one of the same capability for 2, one of another for 8.
var measured = Tables{
	{
		GPU: "NVIDIA H200", Compute: "9.0", Measured: "2026-11-21",
		Rules: []Rule{
			plain("allreduce", 2, 0, "oneshot", 64),
			plain("allreduce", 4, 16<<10, "oneshot_ll", 4),
			plain("allreduce", 4, 256<<10, "oneshot", 32),
			plain("allreduce", 4, 0, "twoshot", 0),
		},
	},
	{GPU: "NVIDIA H100", Compute: "9.0", Measured: "2026-11-24", Rules: []Rule{plain("allreduce", 2, 0, "twoshot", 8)}},
	{GPU: "NVIDIA A100", Compute: "8.0", Measured: "2026-10-01", Rules: []Rule{plain("allreduce", 8, 0, "twoshot", 16)}},
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name  string
		gpu   string
		sm    int
		world int
		bytes int64
		want  Choice
	}{
		{
			"first", "NVIDIA H200", 90, 4, 0,
			Choice{"oneshot_ll", 4, "measured best on NVIDIA H200, 4 GPUs, up to 16K (2026-11-21)"},
		},
		{
			"at the limit", "NVIDIA H200", 90, 4, 16 << 10,
			Choice{"oneshot_ll", 4, "measured best on NVIDIA H200, 4 GPUs, up to 16K (2026-11-21)"},
		},
		{
			"behind it", "NVIDIA H200", 90, 4, 16<<10 + 1,
			Choice{"oneshot", 32, "measured best on NVIDIA H200, 4 GPUs, up to 256K (2026-11-21)"},
		},
		{
			"last", "NVIDIA H200", 90, 4, 1 << 40,
			Choice{"twoshot", 0, "measured best on NVIDIA H200, 4 GPUs, beyond 256K (2026-11-21)"},
		},
		{
			"only one", "NVIDIA H200", 90, 2, 1 << 20,
			Choice{"oneshot", 64, "measured best on NVIDIA H200, 2 GPUs, all sizes (2026-11-21)"},
		},
		{
			"between two numbers of ranks", "NVIDIA H200", 90, 3, 1,
			Choice{"oneshot_ll", 4, "measured best on NVIDIA H200, 4 GPUs (the nearest to 3), up to 16K (2026-11-21)"},
		},
		{
			"more ranks", "NVIDIA H200", 90, 16, 1 << 20,
			Choice{"twoshot", 0, "measured best on NVIDIA H200, 4 GPUs (the nearest to 16), beyond 256K (2026-11-21)"},
		},
		{
			"another model", "NVIDIA B200", 100, 2, 1,
			Choice{
				"oneshot", 64, "measured best on NVIDIA H200 (of the models measured the nearest to NVIDIA B200), 2 GPUs, " +
					"all sizes (2026-11-21)",
			},
		},
		{
			"its own table", "NVIDIA H100", 90, 2, 1,
			Choice{"twoshot", 8, "measured best on NVIDIA H100, 2 GPUs, all sizes (2026-11-24)"},
		},
		{
			"its own table, no farther than another", "NVIDIA H100", 90, 3, 1,
			Choice{"twoshot", 8, "measured best on NVIDIA H100, 2 GPUs (the nearest to 3), all sizes (2026-11-24)"},
		},
		{
			"another table, whose number of ranks is nearer", "NVIDIA H100", 90, 4, 1,
			Choice{
				"oneshot_ll", 4, "measured best on NVIDIA H200 (of the models measured the nearest to NVIDIA H100), 4 GPUs, " +
					"up to 16K (2026-11-21)",
			},
		},
		{
			"the model before the capability", "NVIDIA A100", 90, 8, 1,
			Choice{"twoshot", 16, "measured best on NVIDIA A100, 8 GPUs, all sizes (2026-10-01)"},
		},
	} {
		got, ok := measured.Choose(Query{
			GPU: c.gpu, SM: c.sm, Collective: "allreduce", World: c.world, Bytes: c.bytes,
			Able: func(string) bool { return true },
		})
		if diff := cmp.Diff(c.want, got); diff != "" || !ok {
			t.Errorf("%s: %t %s", c.name, ok, diff)
		}
	}
}

// A call with an epilogue uses the epilogue's rules, or, if there are none, those of plain calls.
func TestChooseByEpilogue(t *testing.T) {
	norm := func(world int, upTo Size, algorithm string, estimated bool) Rule {
		r := plain("allreduce", world, upTo, algorithm, 0)
		r.Epilogue, r.Estimated = collective.RMSNorm, estimated
		return r
	}
	with := measured[0]
	with.Rules = slices.Concat(with.Rules, []Rule{
		norm(2, 64<<10, "oneshot_ll", false), norm(2, 0, "oneshot", false), norm(8, 0, "twoshot", true),
	})
	with.Rules[len(with.Rules)-1].Measured = "2026-11-28"
	for _, c := range []struct {
		tables Tables
		e      collective.EpilogueKind
		world  int
		want   Choice
	}{
		{
			Tables{with},
			collective.RMSNorm, 2,
			Choice{"oneshot_ll", 0, "measured best on NVIDIA H200, 2 GPUs, with rmsnorm, up to 64K (2026-11-21)"},
		},
		{
			Tables{with},
			collective.RMSNorm, 4,
			Choice{
				"oneshot_ll", 0, "measured best on NVIDIA H200, 2 GPUs (the nearest to 4), with rmsnorm, up to 64K (2026-11-21)",
			},
		},
		{
			Tables{with},
			collective.RMSNorm, 8,
			Choice{"twoshot", 0, "estimated for NVIDIA H200, 8 GPUs, with rmsnorm, all sizes (2026-11-28)"},
		},
		{
			Tables{with},
			collective.Bias, 2,
			Choice{"oneshot", 64, "measured best on NVIDIA H200, 2 GPUs, all sizes (2026-11-21)"},
		},
		{
			Tables{with},
			collective.NoEpilogue, 8,
			Choice{"oneshot_ll", 4, "measured best on NVIDIA H200, 4 GPUs (the nearest to 8), up to 16K (2026-11-21)"},
		},
		{
			measured, collective.RMSNorm, 2,
			Choice{"oneshot", 64, "measured best on NVIDIA H200, 2 GPUs, all sizes (2026-11-21)"},
		},
	} {
		got, ok := c.tables.Choose(Query{
			GPU: "NVIDIA H200", SM: 90, Collective: "allreduce", World: c.world, Epilogue: c.e, Bytes: 1 << 10,
			Able: func(string) bool { return true },
		})
		if diff := cmp.Diff(c.want, got); diff != "" || !ok {
			t.Errorf("%q, %d ranks: %t %s", c.e, c.world, ok, diff)
		}
	}
	onlyNorm := Tables{{GPU: "X", Rules: []Rule{norm(2, 0, "oneshot", false)}}}
	if got, ok := onlyNorm.Choose(Query{Collective: "allreduce", World: 2, Able: func(string) bool { return true }}); ok {
		t.Errorf("a plain call goes by %+v", got)
	}
}

// Of tables of one compute capability, the one with rules for the epilogue is taken, and of two that are alike the one
// with the most rules.
func TestChooseAmongTables(t *testing.T) {
	norm := plain("allreduce", 2, 0, "oneshot_ll", 0)
	norm.Epilogue = collective.RMSNorm
	own := Table{GPU: "own", Compute: "9.0", Rules: []Rule{plain("allreduce", 2, 0, "own", 0)}}
	other := Table{GPU: "other", Compute: "9.0", Rules: []Rule{plain("allreduce", 2, 0, "other", 0), norm}}
	for _, tt := range []struct {
		gpu  string
		e    collective.EpilogueKind
		want string
	}{
		{"own", collective.NoEpilogue, "own"},
		{"own", collective.RMSNorm, "oneshot_ll"},
		{"own", collective.Bias, "own"},
		{"third", collective.NoEpilogue, "other"},
	} {
		got, ok := Tables{own, other}.Choose(Query{
			GPU: tt.gpu, SM: 90, Collective: "allreduce", World: 2, Epilogue: tt.e, Able: func(string) bool { return true },
		})
		if !ok || got.Algorithm != tt.want {
			t.Errorf("%s, epilogue %q: %+v, want %s", tt.gpu, tt.e, got, tt.want)
		}
	}
}

// Rows of a length use the length's rules up to their last size, and then those for any length, like
// other rows. The number of ranks is selected before the length.
func TestChooseByRows(t *testing.T) {
	norm := func(world int, hidden int64, upTo Size, algorithm string) Rule {
		r := plain("allreduce", world, upTo, algorithm, 0)
		r.Epilogue, r.Hidden = collective.RMSNorm, hidden
		return r
	}
	tables := Tables{{GPU: "X", Measured: "2026-11-21", Rules: []Rule{
		norm(2, 0, 64<<10, "oneshot_ll"), norm(2, 0, 8<<20, "oneshot"), norm(2, 0, 0, "twoshot"),
		norm(2, 8192, 128<<10, "oneshot_ll"), norm(2, 1024, 0, "multimem"),
		norm(2, 2048, 4<<10, "twoshot"), norm(2, 2048, 16<<20, "oneshot"),
		norm(4, 0, 64<<10, "oneshot"), norm(4, 0, 0, "twoshot"),
	}}}
	for _, c := range []struct {
		world     int
		hidden    int64
		bytes     int64
		unable    string
		algorithm string
		says      string
	}{
		{2, 4096, 64 << 10, "", "oneshot_ll", "2 GPUs, with rmsnorm, up to 64K"},
		{2, 4096, 128 << 10, "", "oneshot", "2 GPUs, with rmsnorm, up to 8M"},
		{2, 8192, 64 << 10, "", "oneshot_ll", "2 GPUs, with rmsnorm of 8192, up to 128K"},
		{2, 8192, 128 << 10, "", "oneshot_ll", "2 GPUs, with rmsnorm of 8192, up to 128K"},
		{2, 8192, 128<<10 + 1, "", "oneshot", "2 GPUs, with rmsnorm, up to 8M"},
		{2, 8192, 1 << 30, "", "twoshot", "2 GPUs, with rmsnorm, beyond 8M"},
		{2, 8192, 1 << 10, "oneshot_ll", "", ""},
		{2, 1024, 1 << 30, "", "multimem", "2 GPUs, with rmsnorm of 1024, all sizes"},
		{2, 2048, 8 << 10, "", "oneshot", "with rmsnorm of 2048, up to 16M"},
		{2, 2048, 32 << 20, "", "twoshot", "with rmsnorm, beyond 16M"},
		{2, 2048, 32 << 20, "twoshot", "", ""},
		{3, 8192, 1 << 10, "", "oneshot", "4 GPUs (the nearest to 3), with rmsnorm, up to 64K"},
		{4, 8192, 1 << 10, "", "oneshot", "4 GPUs, with rmsnorm, up to 64K"},
		{2, 1024, 1 << 10, "multimem", "", ""},
		{2, 0, 64 << 10, "", "oneshot_ll", "2 GPUs, with rmsnorm, up to 64K"},
	} {
		got, ok := tables.Choose(Query{
			GPU: "X", Collective: "allreduce", World: c.world, Epilogue: collective.RMSNorm, Hidden: c.hidden, Bytes: c.bytes,
			Able: func(a string) bool { return a != c.unable },
		})
		if ok != (c.says != "") || got.Algorithm != c.algorithm || !strings.Contains(got.Reason, c.says) {
			t.Errorf("%+v: %t %+v", c, ok, got)
		}
	}
}

func TestChooseKnowsNothing(t *testing.T) {
	able := func(string) bool { return true }
	unable := func(string) bool { return false }
	for name, q := range map[string]Query{
		"no such collective": {GPU: "NVIDIA H200", Collective: "allgather", World: 4, Able: able},
		"others able": {
			GPU: "NVIDIA H200", Collective: "allreduce", World: 4, Bytes: 1 << 20,
			Able: func(a string) bool { return a != "twoshot" },
		},
		"nothing able": {GPU: "NVIDIA H200", Collective: "allreduce", World: 4, Bytes: 1 << 20, Able: unable},
	} {
		if got, ok := measured.Choose(q); ok ||
			(got.Reason == "twoshot, which is for beyond 256K, cannot do this") != strings.Contains(name, "able") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, ok := (Tables{}).Choose(Query{Collective: "allreduce", Able: able}); ok {
		t.Errorf("no tables: %+v", got)
	}
}
