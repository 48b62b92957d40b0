package exec

// controlInstructions are the sections 9.7.12 to 9.7.17.
func controlInstructions() []instruction {
	const (
		sums = "all operations on 32 and 64 bits; .add on .f16 .bf16 .f16x2 .bf16x2 .f32 .f64; vectors of floats"
	)
	return []instruction{
		{"9.7.12.3", "bra", ".uni", (*compiler).branch},
		{"9.7.12.4", "brx", ".idx .uni", (*compiler).branchTable},
		{
			"9.7.12.5", "call", "functions of the module, direct, indirect and variadic; vprintf, malloc, free, __assertfail",
			(*compiler).call,
		},
		{"9.7.12.6", "ret", ".uni", (*compiler).end},
		{"9.7.12.7", "exit", "", (*compiler).end},
		{"9.7.13.1", "bar", ".sync .arrive .red; {.cta}", (*compiler).barrier},
		{"9.7.13.1", "barrier", ".sync .arrive .red; {.cta}; .aligned; .cluster.arrive .cluster.wait", (*compiler).barrier},
		{"9.7.13.4", "membar", ".cta .gl .sys", (*compiler).fence},
		{"9.7.13.4", "fence", ".sc .acq_rel .acquire .release; proxies; .sync_restrict; .mbarrier_init", (*compiler).fence},
		{"9.7.13.5", "atom", sums + "; .cas.b16; .cas and .exch on .b128", (*compiler).atomic},
		{"9.7.13.6", "red", sums, (*compiler).atomic},
		{
			"9.7.13.7", "red.async", ".mbarrier::complete_tx::bytes; .add .min .max .inc .dec .and .or .xor", (*compiler).atomic,
		},
		{"9.7.13.9", "vote.sync", ".all .any .uni .ballot", (*compiler).collective},
		{"9.7.13.10", "match", ".any .all; .b32 .b64", (*compiler).collective},
		{"9.7.13.11", "activemask", ".b32", (*compiler).collective},
		{
			"9.7.13.12", "redux", ".add .min .max .and .or .xor; .u32 .s32 .b32; .min .max of .f32 with .abs .NaN",
			(*compiler).collective,
		},
		{"9.7.13.13", "griddepcontrol", ".launch_dependents .wait", (*compiler).dependentLaunch},
		{"9.7.13.14", "elect", ".sync", (*compiler).elect},
		{"9.7.13.15", "mbarrier", ".init .inval .arrive .expect_tx .test_wait .try_wait", (*compiler).mbarrier},
		{"9.7.13.16", "tensormap.cp_fenceproxy", "see cp.async.bulk.tensor", (*compiler).tensorMapOp},
		{
			"9.7.13.17", "clusterlaunchcontrol", ".try_cancel, which never succeeds; .query_cancel",
			(*compiler).clusterLaunchControl,
		},
		{"9.7.14.4", "wmma", ".load .store .mma; dense matrices", (*compiler).matrix},
		{
			"9.7.14.5", "mma", ".f16 .bf16 .tf32 .f64 .e4m3 .e5m2 and integers; .sp and .sp::ordered_metadata",
			(*compiler).matrix,
		},
		{"9.7.14.5", "ldmatrix", ".m8n8 .m8n16 .m16n16; .x1 .x2 .x4; .trans; .b16 .b8 .b6x16_p32 .b4x16_p64", (*compiler).matrix},
		{"9.7.14.5", "stmatrix", ".m8n8 .m16n8; .x1 .x2 .x4; .trans; .b16 .b8", (*compiler).matrix},
		{"9.7.14.5", "movmatrix", ".m8n8.trans.b16", (*compiler).matrix},
		{
			"9.7.15.5", "wgmma", ".mma_async, with .sp; .fence .commit_group .wait_group", (*compiler).matrix,
		},
		{
			"9.7.16", "tcgen05", ".alloc .dealloc .relinquish_alloc_permit .ld .st .wait .cp .shift .mma .commit .fence; " +
				"all kinds and shapes; dense matrices", (*compiler).tcgen05,
		},
		{"9.7.17.1", "stacksave", ".u64", (*compiler).stack},
		{"9.7.17.2", "stackrestore", ".u64", (*compiler).stack},
		{"9.7.17.3", "alloca", ".u64; with an alignment", (*compiler).stack},
	}
}

// miscellaneousInstructions are the section 9.7.19.
func miscellaneousInstructions() []instruction {
	return []instruction{
		{"9.7.19.1", "brkpt", "stops the kernel with a fault, as without a debugger", (*compiler).trap},
		{"9.7.19.2", "nanosleep", ".u32; ends the turn of the warp", (*compiler).nanosleep},
		{"9.7.19.3", "pmevent", "a literal mask; no effect", (*compiler).profilerEvent},
		{"9.7.19.4", "trap", "stops the kernel with a fault", (*compiler).trap},
		{"9.7.19.5", "setmaxnreg", ".inc .dec", (*compiler).setMaxRegisters},
	}
}
