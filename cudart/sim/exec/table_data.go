package exec

// dataInstructions are the sections 9.7.9 to 9.7.11.
func dataInstructions() []instruction {
	const (
		accesses = "all types up to 128 bits; .v2 .v4 .v8; weak and strong; " +
			"cache operators, priorities and policies have no effect"
		noTextures = "textures and surfaces need hardware of their own; use loads from global memory"
		hints      = "all forms; no effect"
	)
	return []instruction{
		{"9.7.9.3", "mov", "all types; packing and unpacking of vectors; .v2 .v4", (*compiler).move},
		{"9.7.9.6", "shfl.sync", ".up .down .bfly .idx; d\\|p", (*compiler).shuffle},
		{"9.7.9.7", "prmt", ".b32; .f4e .b4e .rc8 .ecl .ecr .rc16", (*compiler).permute},
		{"9.7.9.8", "ld", accesses, (*compiler).load},
		{"9.7.9.9", "ld.global.nc", "as ld", (*compiler).load},
		{"9.7.9.10", "ldu", "as ld", (*compiler).load},
		{"9.7.9.11", "st", accesses, (*compiler).store},
		{"9.7.9.12", "st.async", ".mbarrier::complete_tx::bytes; .v2 .v4; all types of 32 and 64 bits", (*compiler).store},
		{"9.7.9.13", "st.bulk", ".shared::cta", (*compiler).store},
		{"9.7.9.14", "multimem", ".ld_reduce .st .red", (*compiler).multimem},
		{"9.7.9.15", "prefetch", hints, (*compiler).hint},
		{"9.7.9.15", "prefetchu", hints, (*compiler).hint},
		{"9.7.9.16", "applypriority", hints, (*compiler).hint},
		{"9.7.9.17", "discard", hints, (*compiler).hint},
		{"9.7.9.18", "createpolicy", ".fractional .range .cvt; the policy is 0", (*compiler).createPolicy},
		{"9.7.9.19", "isspacep", ".const .global .local .param .shared{::cta,::cluster}", (*compiler).isSpace},
		{"9.7.9.20", "cvta", "{.to}.space.u64", (*compiler).convertAddress},
		{
			"9.7.9.21", "cvt", "all pairs of integers and floats of 8 to 64 bits; .tf32, pairs of .f16 .bf16 .e4m3 .e5m2; " +
				".e2m1 .e2m3 .e3m2 .ue8m0; all roundings but .rs; .ftz .sat .relu .satfinite", (*compiler).convert,
		},
		{"9.7.9.22", "cvt.pack", ".sat; .u16 .s16 .u8 .s8 .u4 .s4 .u2 .s2", (*compiler).convert},
		{"9.7.9.23", "mapa", "{.shared::cluster}.u32 .u64", (*compiler).mapAddress},
		{"9.7.9.24", "getctarank", "{.shared::cluster}.u32 .u64", (*compiler).rankOfAddress},
		{"9.7.9.25", "cp", ".async, .async.bulk and tensor copies and reductions, with their groups", (*compiler).asyncCopy},
		{"9.7.9.28", "tensormap.replace", "the fields of a tensor map", (*compiler).tensorMapOp},
		{"9.7.10.3", "tex", noTextures, nil},
		{"9.7.10.4", "tld4", noTextures, nil},
		{"9.7.10.5", "txq", noTextures, nil},
		{"9.7.10.6", "istypep", noTextures, nil},
		{"9.7.11.1", "suld", noTextures, nil},
		{"9.7.11.2", "sust", noTextures, nil},
		{"9.7.11.3", "sured", noTextures, nil},
		{"9.7.11.4", "suq", noTextures, nil},
	}
}
