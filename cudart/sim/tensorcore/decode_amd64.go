package tensorcore

// decodeHalves decodes elements of Half.
//
//go:noescape
func decodeHalves(to *[8]Element, chunk *[ChunkBytes]byte)

// decodeBFloats decodes elements of BFloat16.
//
//go:noescape
func decodeBFloats(to *[8]Element, chunk *[ChunkBytes]byte)
