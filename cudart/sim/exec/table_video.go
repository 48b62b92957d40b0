package exec

// videoInstructions are the section 9.7.18.
func videoInstructions() []instruction {
	const (
		scalar = ".u32 .s32; parts of registers; .sat; .add .min .max"
		packed = ".u32 .s32; masks and selectors; .sat; .add"
	)
	rows := []instruction{
		{"9.7.18.1.1", "vadd", scalar, (*compiler).video},
		{"9.7.18.1.1", "vsub", scalar, (*compiler).video},
		{"9.7.18.1.1", "vabsdiff", scalar, (*compiler).video},
		{"9.7.18.1.1", "vmin", scalar, (*compiler).video},
		{"9.7.18.1.1", "vmax", scalar, (*compiler).video},
		{"9.7.18.1.2", "vshl", ".clamp .wrap; " + scalar, (*compiler).video},
		{"9.7.18.1.2", "vshr", ".clamp .wrap; " + scalar, (*compiler).video},
		{"9.7.18.1.3", "vmad", ".u32 .s32; parts and signs of registers; .po .sat .shr7 .shr15", (*compiler).videoMad},
		{"9.7.18.1.4", "vset", "all comparisons; " + scalar, (*compiler).video},
	}
	for i, parts := range []string{"2", "4"} {
		section := []string{"9.7.18.2.1", "9.7.18.2.3"}[i]
		for _, name := range []string{"vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"} {
			rows = append(rows, instruction{section, name + parts, packed, (*compiler).videoPacked})
		}
		section = []string{"9.7.18.2.2", "9.7.18.2.4"}[i]
		rows = append(rows, instruction{
			section, "vset" + parts, "all comparisons; .u32 .s32; masks and selectors; .add", (*compiler).videoPacked,
		})
	}
	return rows
}
