package kerneldraft

import (
	"fmt"
	"strings"

	"gpurun/kernels/collective"
)

// text is the kernel file of one of our algorithms.
func (r recipe) text(c *collective.Collective, a *collective.Algorithm, p picked) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# gpurun's own %s %s, as a kernel file: %s.", c.Name, a.Name, a.Summary)
	line("collective = %q", c.Name)
	if len(p.ops) > 0 {
		line("ops = %s", list(p.ops))
	}
	line("types = %s", list(p.types))
	line("module = %q", p.module)
	line("entry = %q", p.entry)
	line("grid = \"grid_blocks\"")
	line("block = \"max(threads, 32 * ceil(world / 32))\" # a thread for each rank, at least")
	if r.bulk {
		line("shared = %d", collective.BulkSharedBytes)
	}
	line("resident = \"grid_blocks\"")
	b.WriteString(r.params(c, a))
	line("")
	line("[let]")
	r.shape(a, line)
	line("")
	r.buffers(a, line)
	line("[contract]")
	if a.Needs.SeparateOutput {
		line("in_place = \"no\"")
	}
	line("order = \"rank\"")
	return b.String()
}

func list(words []string) string { return `["` + strings.Join(words, `", "`) + `"]` }

// shape writes the expressions of Comm.Grid and TileBytes.
func (r recipe) shape(a *collective.Algorithm, line func(string, ...any)) {
	const few = 128
	most := collective.MaxThreads
	if a.Threads > 0 {
		most = a.Threads
	}
	line("items = %q # vectors of 16 bytes, which the blocks divide", r.shared)
	line("most_blocks = \"min(blocks > 0 ? blocks : %d, sms, %d)\"", a.Blocks, collective.MaxBlocks)
	if r.bulk {
		line("threads = \"256\"")
		line("grid_blocks = \"max(min(ceil(items / 128), most_blocks), 1)\"")
		r.tiles(line)
		return
	}
	wide := fmt.Sprint(most)
	for threads := most / 2; threads >= few; threads /= 2 {
		wide = fmt.Sprintf("items <= %d * most_blocks ? %d : %s", threads, threads, wide)
	}
	line("wide = %q", wide)
	line("threads = \"min(wide, 32 * ceil(max(items, 1) / 32))\"")
	line("grid_blocks = \"max(min(ceil(items / threads), most_blocks), 1)\"")
	r.tiles(line)
}

// tiles writes how many bytes a block takes at a time.
func (r recipe) tiles(line func(string, ...any)) {
	if r.tile != "" {
		line("even = \"16 * ceil(items / grid_blocks)\"")
		line("tile = \"min(even, %s)\"", r.tile)
	}
}

// buffers writes the memory that the kernel shares with its peers. The signal pad is the first: offsets count from it.
func (r recipe) buffers(a *collective.Algorithm, line func(string, ...any)) {
	buffer := func(name, size string, keys ...string) {
		line("[buffers.%s]", name)
		line("size = %q", size)
		for _, key := range keys {
			line("%s", key)
		}
		line("")
	}
	buffer("pad", fmt.Sprint(collective.SignalPadBytes), "init = 0")
	buffer("fault", fmt.Sprint(collective.FaultBytes), "host = true", "init = 0",
		"restored = true # a wait for a peer that takes longer than timeout_ns is recorded here")
	if r.scratch != "" {
		buffer("scratch", r.scratch)
	}
	if a.Needs.Packets {
		buffer("packets", fmt.Sprint(collective.PacketAreaBytes(collective.MaxBlocks)), "init = 0")
	}
	if a.Needs.Mailboxes {
		buffer("packets", fmt.Sprint(collective.MailboxAreaBytes(collective.MaxBlocks)), "init = 0")
	}
}

// params writes the argument: the members of collective.Params, in order.
func (r recipe) params(c *collective.Collective, a *collective.Algorithm) string {
	var b strings.Builder
	member := func(what, comment string) {
		fmt.Fprintf(&b, "    {%s},%s# %s\n", what, strings.Repeat(" ", max(1, 60-len(what))), comment)
	}
	number := func(kind, expression, comment string) { member(fmt.Sprintf("%s = '%s'", kind, expression), comment) }
	offset := func(there bool, buffer, comment string) {
		expression := "0"
		if there {
			expression = fmt.Sprintf(`offset("%s", "pad")`, buffer)
		}
		number("i64", expression, comment)
	}
	b.WriteString("args = [\n  {struct = [\n")
	member(fmt.Sprintf(`pointers = "pad", pad = %d`, collective.MaxRanks), "peers: the memory of every rank")
	if a.Needs.Multicast {
		member(`multicast = "pad"`, "multicast: the memory of all ranks at once")
	} else {
		member("null = 1", "multicast")
	}
	member(`pointer = "fault"`, "fault")
	number("u64", "timeout_ns", "timeout_ns")
	number("i64", "bytes", "bytes of a part")
	offset(true, "input", "send_offset")
	step := "0"
	if c.Shape.Recv == collective.PartPerRank && c.Shape.Send == collective.OnePart {
		step = "in_place ? bytes : 0"
	}
	number("i64", step, "send_step")
	offset(true, "output", "recv_offset")
	offset(r.scratch != "", "scratch", "scratch_offset")
	offset(a.Needs.Packets || a.Needs.Mailboxes, "packets", "packet_offset")
	tile := "0"
	if r.tile != "" {
		tile = "tile"
	}
	number("i64", tile, "tile_bytes")
	for _, name := range []string{"row_bytes", "weight_offset", "residual_offset", "residual_out_offset"} {
		number("i64", "0", name+", of an epilogue")
	}
	number("f32", "0.0", "scale, of an epilogue")
	number("f32", "0.0", "epsilon, of an epilogue")
	number("u32", "rank", "rank")
	number("u32", "world", "world")
	number("u32", "root", "root")
	number("u32", "0", "phase")
	number("u32", operation(c), "op")
	number("u32", "0", "reserved")
	b.WriteString("  ]},\n]\n")
	return b.String()
}

// operation is the number of the operation among the kernels.
func operation(c *collective.Collective) string {
	if !c.Shape.Reduces {
		return "0"
	}
	expression := "0"
	for i, op := range collective.Ops() {
		number := map[collective.Op]int{collective.Prod: 1, collective.Min: 2, collective.Max: 3, collective.Avg: 4}[op]
		if i > 0 {
			expression = fmt.Sprintf(`op == "%s" ? %d : %s`, op, number, expression)
		}
	}
	return expression
}
