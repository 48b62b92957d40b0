package kernelfile

// numberTypeOf is the type of number of an element type; "" for floats of 8 bits, which arguments do not have.
func numberTypeOf(elementType string) string {
	return map[string]string{
		"int8": "i8", "uint8": "u8", "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64",
		"half": "f16", "bfloat16": "bf16", "float": "f32", "double": "f64",
	}[elementType]
}

// Initial fills a buffer, or a part of it from element first on, with what Init says. Buffers without Init hold what
// the caller wants, such as poison.
func (f *File) Initial(b *Buffer, call Call, first int64, to []byte) error {
	return f.elements(b.Line, b.Init.Type, b.Init.Value, call, first, to)
}

// Expected computes what an output of a custom file must hold, by its expression, from element first on.
func (f *File) Expected(b *Buffer, call Call, first int64, to []byte) error {
	return f.elements(b.Line, numberTypeOf(b.Type), *b.Expect, call, first, to)
}

// elements evaluates an expression over i for each element. Where it does not depend on i, once is enough.
func (f *File) elements(line int, numberType string, x Expr, call Call, first int64, to []byte) error {
	size := numberBytes(numberType)
	if size == 0 {
		return f.errorAt(line, "elements of this type have no expressions: give a file, or a [reference]")
	}
	if len(to)%size != 0 {
		return f.errorAt(line, "%d bytes are no whole number of elements %s", len(to), numberType)
	}
	e := &env{file: f, call: call}
	for at := 0; at < len(to); at += size {
		e.i = first + int64(at/size)
		if at > 0 && !x.names.has(nameI) {
			copy(to[at:], to[:size])
			continue
		}
		if err := e.encode(to[at:], numberType, x); err != nil {
			return err
		}
	}
	return nil
}
