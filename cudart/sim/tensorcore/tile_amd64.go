package tensorcore

// addTile is [Model.AddTile]: left has a bit for each row.
//
//go:noescape
func addTile(t *tileArgs) (left uint64)
