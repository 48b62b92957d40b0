package exec

// integerInstructions are the sections 9.7.1 and 9.7.2.
func integerInstructions() []instruction {
	const (
		integers = ".u16 .u32 .u64 .s16 .s32 .s64"
		pairs    = integers + " .u16x2 .s16x2; .relu for .s32 and .s16x2"
		wide     = ".u32 .s32 .u64 .s64"
	)
	return []instruction{
		{"9.7.1.1", "add", integers + " .u16x2 .s16x2; .sat for .s32", (*compiler).arithmetic},
		{"9.7.1.2", "sub", integers + "; .sat for .s32", (*compiler).arithmetic},
		{"9.7.1.3", "mul", ".lo .hi .wide; " + integers, (*compiler).arithmetic},
		{"9.7.1.4", "mad", ".lo .hi .wide; " + integers + "; .hi.sat.s32", (*compiler).arithmetic},
		{"9.7.1.5", "mul24", ".lo .hi; .u32 .s32", (*compiler).multiply24},
		{"9.7.1.6", "mad24", ".lo .hi; .u32 .s32; .hi.sat.s32", (*compiler).multiply24},
		{"9.7.1.7", "sad", integers, (*compiler).sumOfDifference},
		{"9.7.1.8", "div", integers, (*compiler).arithmetic},
		{"9.7.1.9", "rem", integers, (*compiler).arithmetic},
		{"9.7.1.10", "abs", ".s16 .s32 .s64", (*compiler).arithmetic},
		{"9.7.1.11", "neg", ".s16 .s32 .s64", (*compiler).arithmetic},
		{"9.7.1.12", "min", pairs, (*compiler).arithmetic},
		{"9.7.1.13", "max", pairs, (*compiler).arithmetic},
		{"9.7.1.14", "popc", ".b32 .b64", (*compiler).bitCount},
		{"9.7.1.15", "clz", ".b32 .b64", (*compiler).bitCount},
		{"9.7.1.16", "bfind", wide + "; .shiftamt", (*compiler).bitCount},
		{"9.7.1.17", "fns", ".b32", (*compiler).findNthSet},
		{"9.7.1.18", "brev", ".b32 .b64", (*compiler).bitField},
		{"9.7.1.19", "bfe", wide, (*compiler).bitField},
		{"9.7.1.20", "bfi", ".b32 .b64", (*compiler).bitField},
		{"9.7.1.21", "szext", ".clamp .wrap; .u32 .s32", (*compiler).signExtendField},
		{"9.7.1.22", "bmsk", ".clamp .wrap; .b32", (*compiler).bitMask},
		{"9.7.1.23", "dp4a", ".u32 .s32 for each factor", (*compiler).dotProduct},
		{"9.7.1.24", "dp2a", ".lo .hi; .u32 .s32 for each factor", (*compiler).dotProduct},

		{"9.7.2.1", "add.cc", wide, (*compiler).arithmetic},
		{"9.7.2.2", "addc", wide + "; .cc", (*compiler).withCarry},
		{"9.7.2.3", "sub.cc", wide, (*compiler).arithmetic},
		{"9.7.2.4", "subc", wide + "; .cc", (*compiler).withCarry},
		{"9.7.2.5", "mad.cc", ".lo .hi; " + wide, (*compiler).arithmetic},
		{"9.7.2.6", "madc", ".lo .hi; " + wide + "; .cc", (*compiler).withCarry},
	}
}

// floatInstructions are the sections 9.7.3 to 9.7.5.
func floatInstructions() []instruction {
	const (
		rounded  = ".f32 .f64 .f32x2; .rn .rz .rm .rp; .ftz and .sat for .f32"
		quotient = ".f32 .f64; .rn .rz .rm .rp; .ftz for .f32; .approx"
		extremum = ".f32 .f64; .ftz .NaN .xorsign.abs for .f32; three inputs with .abs"
		halves   = ".f16 .f16x2 .bf16 .bf16x2"
		mixed    = ".f32.f16 .f32.bf16; .rn .rz .rm .rp; .sat"
	)
	return []instruction{
		{"9.7.3.1", "testp", ".finite .infinite .number .notanumber .normal .subnormal; .f32 .f64", (*compiler).testProperty},
		{"9.7.3.2", "copysign", ".f32 .f64", (*compiler).arithmetic},
		{"9.7.3.3", "add", rounded, (*compiler).arithmetic},
		{"9.7.3.4", "sub", rounded, (*compiler).arithmetic},
		{"9.7.3.5", "mul", rounded, (*compiler).arithmetic},
		{"9.7.3.6", "fma", rounded, (*compiler).arithmetic},
		{"9.7.3.7", "mad", ".f32 .f64, as fma", (*compiler).arithmetic},
		{"9.7.3.8", "div", quotient + " and .full for .f32", (*compiler).arithmetic},
		{"9.7.3.9", "abs", ".f32 .f64; .ftz for .f32", (*compiler).arithmetic},
		{"9.7.3.10", "neg", ".f32 .f64; .ftz for .f32", (*compiler).arithmetic},
		{"9.7.3.11", "min", extremum, (*compiler).arithmetic},
		{"9.7.3.12", "max", extremum, (*compiler).arithmetic},
		{"9.7.3.13", "rcp", quotient + " for .f32", (*compiler).arithmetic},
		{"9.7.3.14", "rcp.approx.ftz.f64", "", (*compiler).arithmetic},
		{"9.7.3.15", "sqrt", quotient + " for .f32", (*compiler).arithmetic},
		{"9.7.3.16", "rsqrt", ".approx; .f32 .f64; .ftz for .f32", (*compiler).approximate},
		{"9.7.3.17", "rsqrt.approx.ftz.f64", "", (*compiler).approximate},
		{"9.7.3.18", "sin", ".approx; .f32; .ftz", (*compiler).approximate},
		{"9.7.3.19", "cos", ".approx; .f32; .ftz", (*compiler).approximate},
		{"9.7.3.20", "lg2", ".approx; .f32; .ftz", (*compiler).approximate},
		{"9.7.3.21", "ex2", ".approx; .f32; .ftz", (*compiler).approximate},
		{"9.7.3.22", "tanh", ".approx; .f32", (*compiler).approximate},

		{"9.7.4.1", "add", halves + "; .ftz .sat for .f16 .f16x2", (*compiler).arithmetic},
		{"9.7.4.2", "sub", halves + "; .ftz .sat for .f16 .f16x2", (*compiler).arithmetic},
		{"9.7.4.3", "mul", halves + "; .ftz .sat for .f16 .f16x2", (*compiler).arithmetic},
		{"9.7.4.4", "fma", halves + "; .ftz .sat for .f16 .f16x2; .relu .oob", (*compiler).arithmetic},
		{"9.7.4.5", "neg", halves + "; .ftz for .f16 .f16x2", (*compiler).arithmetic},
		{"9.7.4.6", "abs", halves + "; .ftz for .f16 .f16x2", (*compiler).arithmetic},
		{"9.7.4.7", "min", halves + "; .ftz for .f16 .f16x2; .NaN .xorsign.abs", (*compiler).arithmetic},
		{"9.7.4.8", "max", halves + "; .ftz for .f16 .f16x2; .NaN .xorsign.abs", (*compiler).arithmetic},
		{"9.7.4.9", "tanh", ".approx; " + halves, (*compiler).approximate},
		{"9.7.4.10", "ex2", ".approx; .f16 .f16x2; .ftz.bf16 .ftz.bf16x2", (*compiler).approximate},

		{"9.7.5.1", "add", mixed, (*compiler).arithmetic},
		{"9.7.5.2", "sub", mixed, (*compiler).arithmetic},
		{"9.7.5.3", "fma", mixed, (*compiler).arithmetic},
	}
}

// logicInstructions are the sections 9.7.6 to 9.7.8.
func logicInstructions() []instruction {
	const (
		comparisons = "all comparisons; .and .or .xor"
		logic       = ".pred .b16 .b32 .b64"
	)
	return []instruction{
		{"9.7.6.1", "set", comparisons + "; to .u32 .s32 .f32; .ftz", (*compiler).set},
		{"9.7.6.2", "setp", comparisons + "; p\\|q; .ftz", (*compiler).setp},
		{"9.7.6.3", "selp", "all types of 16, 32 and 64 bits", (*compiler).selp},
		{"9.7.6.4", "slct", "all types; by .s32 and .f32; .ftz", (*compiler).slct},
		{"9.7.7.1", "set", comparisons + "; to and of .f16 .f16x2 .bf16 .bf16x2; .ftz", (*compiler).set},
		{"9.7.7.2", "setp", comparisons + " of .f16 .f16x2 .bf16 .bf16x2; .ftz", (*compiler).setp},
		{"9.7.8.1", "and", logic, (*compiler).logical},
		{"9.7.8.2", "or", logic, (*compiler).logical},
		{"9.7.8.3", "xor", logic, (*compiler).logical},
		{"9.7.8.4", "not", logic, (*compiler).logical},
		{"9.7.8.5", "cnot", ".b16 .b32 .b64", (*compiler).logical},
		{"9.7.8.6", "lop3", ".b32; .and .or", (*compiler).lop3},
		{"9.7.8.7", "shf", ".l .r; .clamp .wrap; .b32", (*compiler).funnel},
		{"9.7.8.8", "shl", ".b16 .b32 .b64", (*compiler).shift},
		{"9.7.8.9", "shr", ".b16 .b32 .b64 .u16 .u32 .u64 .s16 .s32 .s64", (*compiler).shift},
	}
}
