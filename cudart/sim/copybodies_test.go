package sim

import (
	"encoding/binary"
	"strings"
	"testing"
)

// copyForms are reductions of all types, and forms of cp.async and mbarrier.
func copyForms() []copyForm {
	forms := append(smallCopyForms(), mbarrierForms()...)
	for name, typ := range reduceTypes() {
		for _, op := range strings.Fields(typ.ops) {
			forms = append(forms, reduceForm(name, op, typ, false))
			if typ.bytes == 4 && name != "f32" {
				forms = append(forms, reduceForm(name, op, typ, true))
			}
		}
	}
	return append(forms, reduceForm("u64", "add", reduceTypes()["u64"], true))
}

// wordsOut sets the words of the output of each thread.
func wordsOut(buffer []byte, threads int, f func(thread, word int) uint32) {
	for i := range 4 * threads {
		binary.LittleEndian.PutUint32(buffer[copyHalf+4*i:], f(i/4, i%4))
	}
}

func smallCopyForms() []copyForm {
	part := func(buffer []byte, thread, word int) uint32 {
		return binary.LittleEndian.Uint32(buffer[16*thread+4*word:])
	}
	// ninth are the threads with a predicate.
	const ninth = "rem.u32 %a, %thread, 9; setp.eq.u32 q, %a, 0;\n"
	all := func(buffer []byte) {
		wordsOut(buffer, 64, func(thread, word int) uint32 { return part(buffer, thread, word) })
	}
	ignored := func(when bool) func(buffer []byte) {
		return func(buffer []byte) {
			wordsOut(buffer, 64, func(thread, word int) uint32 {
				if (thread%9 == 0) == when {
					return 0
				}
				return part(buffer, thread, word)
			})
		}
	}
	const wait = "cp.async.wait_all; bar.sync 0;\n" + copyOut
	const arrivals = `
	@first mbarrier.init.shared::cta.b64 [barrier], COUNT;
	bar.sync 0;
	cp.async.ca.shared.global [%s], [%from], 8;
	cp.async.ca.shared.global [%s+8], [%from+8], 8;
	ARRIVE
` + awaitBarrier + `
	xor.b32 %thread, %thread, 63;
	mov.u32 %s, tile;
	mad.lo.u32 %s, %thread, 16, %s;
	mad.wide.u32 %to, %thread, 16, %out;
` + copyOut
	return []copyForm{
		{"ignore", ninth + "cp.async.cg.shared.global [%s], [%from], 16, q;" + wait, 64, nil, ignored(true), 0},
		{
			"ignore all but", ninth + "cp.async.ca.shared.global.L2::128B [%s], [%from], 8, !q; " +
				"cp.async.ca.shared.global [%s+8], [%from+8], 8, !q;" + wait, 64, nil, ignored(false), 0,
		},
		{
			"ignore, with a hint", ninth +
				"createpolicy.fractional.L2::evict_last.b64 %hint, 1.0; cp.async.cg.shared.global.L2::cache_hint [%s], [%from], " +
				"16, q, %hint;" + wait,
			64, nil, ignored(true), 0,
		},
		{"read less", "cp.async.ca.shared.global [%s], [%from], 16, 5;" + wait, 64, nil, func(buffer []byte) {
			wordsOut(buffer, 64, func(thread, word int) uint32 {
				return part(buffer, thread, word) & [4]uint32{0xffffffff, 0xff}[word]
			})
		}, 0},
		{
			"arrive", strings.NewReplacer("COUNT", "64", "ARRIVE",
				"cp.async.mbarrier.arrive.shared.b64 [barrier]; mbarrier.arrive.shared.b64 _, [barrier];").Replace(arrivals), 64,
			nil, all, 0,
		},
		{
			"arrive.noinc", strings.NewReplacer("COUNT", "64", "ARRIVE",
				"cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%bar];").Replace(arrivals), 64, nil, all, 0,
		},
		{
			"prefetch", "cp.async.bulk.prefetch.L2.global [%data], 1024; cp.async.cg.shared.global [%s], [%from], 16;" + wait,
			64, nil, all, 0,
		},
	}
}

// mbarrierForms report predicates and counts, by one thread.
func mbarrierForms() []copyForm {
	const test = "mbarrier.test_wait.parity.shared::cta.b64 p, [barrier], 0; selp.u32 %N, 1, 0, p;\n"
	body := func(init, a, b, c, d string) string {
		text := "mbarrier.init.shared.b64 [barrier], " + init + ";\n"
		for i, step := range []string{a, b, c, d} {
			if !strings.Contains(step, "%N") {
				step += test
			}
			text += strings.ReplaceAll(step, "%N", "%"+"abcd"[i:i+1])
		}
		return text + "st.global.v4.b32 [%out], {%a, %b, %c, %d};"
	}
	form := func(name, body string, words ...uint32) copyForm {
		return copyForm{
			name, body, 1, nil, func(buffer []byte) { wordsOut(buffer, 1, func(_, word int) uint32 { return words[word] }) }, 0,
		}
	}
	return []copyForm{
		form("count", body("5", "mbarrier.arrive.shared::cta.b64 _, [barrier], 2;",
			"mbarrier.arrive.release.cta.shared::cta.b64 %state, [barrier];",
			"mbarrier.arrive.release.cluster.shared::cta.b64 _, [%bar], 2;", ""), 0, 0, 1, 1),
		form("arrive_drop", body("3", "mbarrier.arrive_drop.shared.b64 _, [barrier], 2;",
			"mbarrier.arrive.shared.b64 _, [barrier];",
			"mbarrier.arrive.shared.b64 %state, [barrier];",
			"mbarrier.test_wait.shared.b64 p, [barrier], %state; selp.u32 %N, 1, 0, p;"), 0, 1, 0, 1),
		form("arrive_drop.expect_tx", body("2", "mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, [barrier], 32;",
			"mbarrier.arrive.shared.b64 _, [barrier];",
			"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [barrier], 12;",
			"mbarrier.complete_tx.shared::cta.b64 [barrier], 20;"), 0, 0, 0, 1),
		form("expect_tx", body("1", "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [barrier], 16;",
			"mbarrier.arrive.shared.b64 _, [barrier];",
			"mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%bar], 16;",
			"mbarrier.inval.shared.b64 [barrier]; mov.u32 %N, 7;"), 0, 0, 1, 7),
		form("pending_count", body("9",
			"mbarrier.arrive.noComplete.shared.b64 %state, [barrier], 3; mbarrier.pending_count.b64 %N, %state;",
			"mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %state, [barrier], 1; "+
				"mbarrier.pending_count.b64 %N, %state;",
			"mbarrier.arrive_drop.noComplete.shared.b64 %state, [barrier], 2; mbarrier.pending_count.b64 %N, %state;",
			"mbarrier.arrive.noComplete.shared.b64 %state, [barrier], 1; mbarrier.pending_count.b64 %N, %state;"), 9, 6, 5, 3),
		form("try_wait", body("1", "mbarrier.arrive.shared.b64 %state, [barrier]; "+
			"mbarrier.try_wait.acquire.cluster.shared::cta.b64 p, [barrier], %state, 1000; selp.u32 %N, 1, 0, p;",
			"mbarrier.try_wait.parity.shared::cta.b64 p, [barrier], 1, 100; selp.u32 %N, 1, 0, p;",
			"mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [barrier], 0; selp.u32 %N, 1, 0, p;",
			"mbarrier.arrive.shared.b64 %state, [barrier];"), 1, 0, 1, 0),
	}
}

func TestCopyForms(t *testing.T) {
	for seed := range uint64(4) {
		d := openWith(t, Options{Major: 9, Seed: seed})
		for _, f := range copyForms() {
			t.Run(f.name, func(t *testing.T) { f.check(t, d, seed) })
		}
	}
}

func TestGPUCopyForms(t *testing.T) {
	for _, f := range copyForms() {
		t.Run(f.name, func(t *testing.T) { f.check(t, openHopper(t), 1) })
	}
}
