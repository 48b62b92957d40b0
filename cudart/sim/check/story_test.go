package check

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/race"
)

// messagePassing is a kernel of two ranks. Rank 0 writes data of rank 1 and then a flag there; rank 1 polls its flag
// and then reads its data. Words in capitals are replaced.
const messagePassing = `
.version 8.0
.target sm_80
.address_size 64
.file 1 "story.cu"
.visible .entry story(.param .u64 data, .param .u64 flag, .param .u32 rank)
{
	.reg .b64 %data, %flag;
	.reg .b32 %rank, %tid, %seen;
	.reg .pred %reader, %first, %again;
	ld.param.u64 %data, [data];
	ld.param.u64 %flag, [flag];
	ld.param.u32 %rank, [rank];
	mov.u32 %tid, %tid.x;
	setp.eq.u32 %first, %tid, 0;
	setp.ne.u32 %reader, %rank, 0;
	mad.wide.u32 %data, %tid, 4, %data;
	@%reader bra receive;
	.loc 1 10 0
	st.global.u32 [%data], 42;
	SENDER_BARRIER
	SENDER_FENCE
	.loc 1 12 0
	@%first STORE [%flag], 1;
	bra end;
receive:
	@!%first bra received;
again:
	.loc 1 20 0
	LOAD %seen, [%flag];
	setp.eq.u32 %again, %seen, 0;
	@%again bra again;
	RECEIVER_FENCE
received:
	RECEIVER_BARRIER
	.loc 1 22 0
	ld.global.u32 %seen, [%data];
end:
	ret;
}
`

// story fills in the words of a kernel; what is not given is empty.
func story(words map[string]string) string {
	pairs := []string{}
	for _, w := range []string{
		"SENDER_BARRIER", "SENDER_FENCE", "RECEIVER_FENCE", "RECEIVER_BARRIER", "STORE", "LOAD",
	} {
		pairs = append(pairs, w, words[w])
	}
	return strings.NewReplacer(pairs...).Replace(messagePassing)
}

const blockBarrier = "bar.sync 0;"

// runStory runs the kernel on two ranks with so many threads each.
func runStory(t *testing.T, text string, threads int, seed uint64) *Report {
	t.Helper()
	c, err := New(Config{Ranks: 2})
	if err != nil {
		t.Fatal(err)
	}
	report, err := c.Run(seed, func(r *Rank) error { return passMessage(r, text, threads) })
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func passMessage(r *Rank, text string, threads int) error {
	data, err := r.Device.Malloc(4 * 1024)
	if err != nil {
		return err
	}
	flag, err := r.Device.Malloc(256)
	if err != nil {
		return err
	}
	r.Name(data, 4*1024, "data")
	r.Name(flag, 256, "flag")
	datas, err := r.Share(data)
	if err != nil {
		return err
	}
	flags, err := r.Share(flag)
	if err != nil {
		return err
	}
	m, err := r.Device.LoadModule("story.ptx", []byte(text))
	if err != nil {
		return err
	}
	k, err := m.Kernel("story")
	if err != nil {
		return err
	}
	s, err := r.Device.NewStream()
	if err != nil {
		return err
	}
	params := binary.LittleEndian.AppendUint64(nil, uint64(datas[1]))
	params = binary.LittleEndian.AppendUint64(params, uint64(flags[1]))
	params = binary.LittleEndian.AppendUint32(params, uint32(r.Number))
	if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: threads}, params); err != nil {
		return err
	}
	return s.Synchronize(context.Background())
}

// A message whose flag is released and acquired at system scope has no race; with less it has the one that is named.
func TestMessagePassing(t *testing.T) {
	right := map[string]string{
		"STORE": "st.release.sys.global.u32", "LOAD": "ld.acquire.sys.global.u32",
		"SENDER_BARRIER": blockBarrier, "RECEIVER_BARRIER": blockBarrier,
	}
	for name, story := range map[string]struct {
		change map[string]string
		want   string // findings: kind of the later access, cause and lines of the source
	}{
		"release and acquire": {nil, ""},
		"the release reaches its GPU alone": {
			map[string]string{"STORE": "st.release.gpu.global.u32"}, "12-20 narrow, 10-22 narrow by 12-20",
		},
		"the acquire reaches its GPU alone": {
			map[string]string{"LOAD": "ld.acquire.gpu.global.u32"}, "12-20 narrow, 10-22 narrow by 12-20",
		},
		"the flag is relaxed":     {map[string]string{"STORE": "st.relaxed.sys.global.u32"}, "10-22 unordered"},
		"the poll is relaxed":     {map[string]string{"LOAD": "ld.relaxed.sys.global.u32"}, "10-22 unordered"},
		"the flag is volatile":    {map[string]string{"STORE": "st.volatile.global.u32"}, "10-22 unordered"},
		"the flag is weak":        {map[string]string{"STORE": "st.global.u32"}, "12-20 unordered, 10-22 unordered"},
		"the sender signals soon": {map[string]string{"SENDER_BARRIER": ""}, "10-22 unordered, 10-22 lanes"},
		"the receiver reads soon": {map[string]string{"RECEIVER_BARRIER": ""}, "10-22 unordered, 10-22 lanes"},
	} {
		t.Run(name, func(t *testing.T) {
			expectStory(t, with(right, story.change), 64, story.want)
		})
	}
}

// with is words with changes.
func with(words, changes map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{words, changes} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// expectStory compares the findings of several schedules together with those wanted, in any order.
func expectStory(t *testing.T, words map[string]string, threads int, want string) {
	t.Helper()
	found := map[string]bool{}
	var text strings.Builder
	for seed := range uint64(8) {
		r := runStory(t, story(words), threads, seed)
		if len(r.Incomplete) > 0 {
			t.Errorf("seed %d is incomplete: %q", seed, r.Incomplete)
		}
		for _, f := range r.Findings {
			if !found[tell(f)] {
				text.WriteString(f.String())
			}
			found[tell(f)] = true
		}
	}
	for _, w := range strings.Split(want, ", ") {
		if w != "" && !found[w] {
			t.Errorf("no schedule finds %q", w)
		}
		delete(found, w)
	}
	if len(found) > 0 {
		t.Errorf("schedules find more: %v", found)
	}
	if t.Failed() {
		t.Log(text.String())
	}
}

// tell is a finding in short: the lines of the source, those of the write first, and the cause.
func tell(f Finding) string {
	lines := func(a, b Access) string {
		first, second := line(a), line(b)
		if a.Kind == race.Read {
			first, second = second, first
		}
		return first + "-" + second
	}
	cause := map[string]string{
		race.NoOrder.String(): " unordered", race.NarrowScope.String(): " narrow", race.PartialOverlap.String(): " partial",
		race.UnorderedLanes.String(): " lanes",
	}[f.Cause]
	if f.Flag != nil {
		cause += " by " + lines(f.Flag[0], f.Flag[1])
	}
	return lines(f.Sides[0], f.Sides[1]) + cause
}

func line(a Access) string {
	_, number, _ := strings.Cut(a.Source, ":")
	return number
}
