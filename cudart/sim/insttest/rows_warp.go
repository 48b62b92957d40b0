package insttest

import "fmt"

// warpGroups are instructions whose results depend on other lanes: only a GPU can tell them from
// operands alone. Those lanes take part that execute the instruction.
func warpGroups() []Group {
	var l list
	with := func(types, text string) {
		l.add(types, "{ .reg .b32 all; activemask.b32 all; "+text+" }", nil)
	}
	for _, mode := range []string{"up", "down", "bfly", "idx"} {
		for _, clamp := range []string{"0", "31", "0x1e1f", "0x181f", "0x1807", "c"} {
			// Lanes of even and odd number are not active together everywhere: they read from their like.
			from := "2"
			if mode == "idx" {
				from = "b"
			}
			with("b32 b32 b32 b32", fmt.Sprintf("mov.u32 b, %%laneid; xor.b32 b, b, 2; shfl.sync.%s.b32 d|p, a, %s, %s, all; "+
				"selp.b32 d, d, -1, p;", mode, from, clamp))
		}
	}
	for _, mode := range []string{"all", "any", "uni"} {
		with("b32 b32", fmt.Sprintf("setp.lt.s32 p, a, 1000; vote.sync.%s.pred q, p, all; selp.b32 d, 1, 0, q;", mode))
		with("b32 b32", fmt.Sprintf("setp.ne.s32 p, a, a; vote.sync.%s.pred q, !p, all; selp.b32 d, 1, 0, q;", mode))
	}
	with("b32 b32", "setp.lt.s32 p, a, 1000; vote.sync.ballot.b32 d, p, all;")
	with("b32 b32", "match.any.sync.b32 d, a, all;")
	with("b32 b64", "match.any.sync.b64 d, a, all;")
	with("b32 b32", "and.b32 a, a, 0; match.all.sync.b32 d|p, a, all; selp.b32 d, d, 7, p;")
	with("b32 b32", "match.all.sync.b32 d|p, a, all; selp.b32 d, d, 7, p;")
	for _, t := range []string{"u32", "s32"} {
		for _, op := range []string{"add", "min", "max"} {
			with("b32 b32", fmt.Sprintf("redux.sync.%s.%s d, a, all;", op, t))
		}
	}
	for _, op := range []string{"and", "or", "xor"} {
		with("b32 b32", fmt.Sprintf("redux.sync.%s.b32 d, a, all;", op))
	}
	with("b32 b32", "mov.b32 d, all;")
	for _, name := range []string{
		"laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt", "lanemask_ge", "tid.x", "ntid.x", "ntid.y",
		"tid.z", "ctaid.x", "nctaid.x", "nctaid.z", "dynamic_smem_size",
	} {
		l.add("b32", "mov.u32 d, %"+name+";", nil)
	}
	places := atTwoPlaces()
	var elect list
	elect.add("b32 b32", "{ .reg .b32 all; activemask.b32 all; elect.sync d|p, all; selp.b32 d, -1, d, p; }", nil)
	return []Group{{"warps", sm80, l}, {"warps, at two places", sm80, places}, {"elections", sm90, elect}}
}

// atTwoPlaces has lanes meet at two instructions of the same kind. Bit 1 of a lane's number decides at which. What is
// computed before and behind differs, so that a compiler does not make one place of them.
func atTwoPlaces() []Row {
	var l list
	for _, instruction := range []string{
		"shfl.sync.bfly.b32 d, a, 2, 31, all;",
		"shfl.sync.up.b32 d, a, 2, 0, all;",
		"setp.lt.s32 q, a, 1000; vote.sync.ballot.b32 d, q, all;",
		"setp.lt.s32 q, a, 1000; vote.sync.any.pred q, q, all; selp.b32 d, 1, 0, q;",
		"match.any.sync.b32 d, a, all;",
		"redux.sync.add.u32 d, a, all;",
		"redux.sync.xor.b32 d, a, all;",
	} {
		l.add("b32 b32", "{ .reg .b32 all, lane; activemask.b32 all; mov.u32 lane, %laneid; and.b32 lane, lane, 2; "+
			"setp.eq.u32 p, lane, 0; @p bra other; add.u32 a, a, lane; "+instruction+" xor.b32 d, d, 5; bra met; "+
			"other: and.b32 a, a, 0xffff; "+instruction+" mul.lo.u32 d, d, 3; met: }", nil)
	}
	return l
}
