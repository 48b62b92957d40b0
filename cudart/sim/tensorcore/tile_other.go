//go:build !amd64

package tensorcore

// addTile is for processors that [Model.AddsTiles] accepts.
func addTile(*tileArgs) (left uint64) { return 1<<TileRows - 1 }
