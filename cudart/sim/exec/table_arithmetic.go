package exec

// arithmeticInstructions are the sections 9.7.1 to 9.7.5.
func arithmeticInstructions() []instruction {
	const (
		integers = ".u16 .u32 .u64 .s16 .s32 .s64"
		rounded  = ".f32 .f64 .f32x2; .rn .rz .rm .rp; .ftz, .sat for .f32"
		halves   = ".f16 .f16x2 .bf16 .bf16x2"
	)
	return []instruction{
		{"9.7.1.1", "add", integers + " .u16x2 .s16x2; .sat for .s32", (*compiler).arithmetic},
		{"9.7.1.2", "sub", integers + "; .sat for .s32", (*compiler).arithmetic},
		{"9.7.1.3", "mul", ".lo .hi .wide; " + integers, (*compiler).arithmetic},
		{"9.7.1.4", "mad", ".lo .hi .wide; " + integers + "; .hi.sat.s32", (*compiler).arithmetic},
		{"9.7.1.8", "div", integers, (*compiler).arithmetic},
		{"9.7.1.9", "rem", integers, (*compiler).arithmetic},
		{"9.7.1.10", "abs", ".s16 .s32 .s64", (*compiler).arithmetic},
		{"9.7.1.11", "neg", ".s16 .s32 .s64", (*compiler).arithmetic},
		{"9.7.1.12", "min", integers + " .u16x2 .s16x2; .relu for .s32 and .s16x2", (*compiler).arithmetic},
		{"9.7.1.13", "max", integers + " .u16x2 .s16x2; .relu for .s32 and .s16x2", (*compiler).arithmetic},
		{"9.7.1.14", "popc", ".b32 .b64", (*compiler).bitCount},
		{"9.7.1.15", "clz", ".b32 .b64", (*compiler).bitCount},
		{"9.7.1.16", "bfind", ".u32 .u64 .s32 .s64; .shiftamt", (*compiler).bitCount},
		{"9.7.1.18", "brev", ".b32 .b64", (*compiler).bitField},
		{"9.7.1.19", "bfe", ".u32 .u64 .s32 .s64", (*compiler).bitField},
		{"9.7.1.20", "bfi", ".b32 .b64", (*compiler).bitField},

		{"9.7.3.2", "copysign", ".f32 .f64", (*compiler).arithmetic},
		{"9.7.3.3", "add", rounded, (*compiler).arithmetic},
		{"9.7.3.4", "sub", rounded, (*compiler).arithmetic},
		{"9.7.3.5", "mul", rounded, (*compiler).arithmetic},
		{"9.7.3.6", "fma", rounded, (*compiler).arithmetic},
		{"9.7.3.7", "mad", ".f32 .f64; as fma", (*compiler).arithmetic},
		{"9.7.3.8", "div", ".rn .f32 .f64; .ftz", (*compiler).arithmetic},
		{"9.7.3.9", "abs", ".f32 .f64; .ftz", (*compiler).arithmetic},
		{"9.7.3.10", "neg", ".f32 .f64; .ftz", (*compiler).arithmetic},
		{"9.7.3.11", "min", ".f32 .f64; .ftz .NaN", (*compiler).arithmetic},
		{"9.7.3.12", "max", ".f32 .f64; .ftz .NaN", (*compiler).arithmetic},
		{"9.7.3.13", "rcp", ".rn .f32 .f64; .ftz", (*compiler).arithmetic},
		{"9.7.3.15", "sqrt", ".rn .f32 .f64; .ftz", (*compiler).arithmetic},

		{"9.7.4.1", "add", halves + "; .ftz .sat", (*compiler).arithmetic},
		{"9.7.4.2", "sub", halves + "; .ftz .sat", (*compiler).arithmetic},
		{"9.7.4.3", "mul", halves + "; .ftz .sat", (*compiler).arithmetic},
		{"9.7.4.4", "fma", halves + "; .ftz .sat", (*compiler).arithmetic},
		{"9.7.4.5", "neg", halves + "; .ftz", (*compiler).arithmetic},
		{"9.7.4.6", "abs", halves + "; .ftz", (*compiler).arithmetic},
		{"9.7.4.7", "min", halves + "; .ftz .NaN", (*compiler).arithmetic},
		{"9.7.4.8", "max", halves + "; .ftz .NaN", (*compiler).arithmetic},
	}
}

// logicInstructions are the sections 9.7.6 to 9.7.8.
func logicInstructions() []instruction {
	const comparisons = "all comparisons; .and .or .xor"
	return []instruction{
		{"9.7.6.1", "set", comparisons, (*compiler).set},
		{"9.7.6.2", "setp", comparisons + "; p|q; .ftz", (*compiler).setp},
		{"9.7.6.3", "selp", "all types of 16, 32 and 64 bits", (*compiler).selp},
		{"9.7.6.4", "slct", "all types; by .s32", (*compiler).slct},
		{"9.7.7.1", "set", "", (*compiler).set},
		{"9.7.7.2", "setp", "all comparisons of .f16 and .bf16", (*compiler).setp},
		{"9.7.8.1", "and", ".pred .b16 .b32 .b64", (*compiler).logical},
		{"9.7.8.2", "or", ".pred .b16 .b32 .b64", (*compiler).logical},
		{"9.7.8.3", "xor", ".pred .b16 .b32 .b64", (*compiler).logical},
		{"9.7.8.4", "not", ".pred .b16 .b32 .b64", (*compiler).logical},
		{"9.7.8.5", "cnot", ".b16 .b32 .b64", (*compiler).logical},
		{"9.7.8.6", "lop3", ".b32", (*compiler).lop3},
		{"9.7.8.7", "shf", ".l .r; .clamp .wrap; .b32", (*compiler).funnel},
		{"9.7.8.8", "shl", ".b16 .b32 .b64", (*compiler).shift},
		{"9.7.8.9", "shr", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64", (*compiler).shift},
	}
}
