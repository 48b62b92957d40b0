package ptx

import "strings"

// maxExtent bounds a number in a tuning directive; the sizes of launches are checked elsewhere.
const maxExtent = 1 << 20

// parsePerformance reads the tuning directives between parameters and body.
// Only the sizes of blocks and clusters matter to execution.
func (p *parser) parsePerformance(e *Entry) error {
	for strings.HasPrefix(p.tok.text, ".") && p.tok.kind == tokWord {
		name := p.advance().text
		size, err := p.extents()
		if err != nil {
			return err
		}
		if p.tok.kind == tokString {
			p.advance()
			p.accept(";")
		}
		switch name {
		case ".maxntid":
			e.MaxThreads = size[0] * size[1] * size[2]
		case ".reqntid":
			e.Block = size
		case ".reqnctapercluster":
			e.Cluster = size
		case ".maxclusterrank":
			e.MaxCluster = size[0]
		case ".minnctapersm":
			e.MinBlocks = size[0]
		case ".noreturn":
			e.NoReturn = true
		case ".explicitcluster":
			e.ExplicitCluster = true
		case ".blocksareclusters":
			e.BlocksAreClusters = true
		}
	}
	return nil
}

// extents reads the numbers of a directive, one to three sizes in x, y and z. One that is not given is 1.
func (p *parser) extents() ([3]int, error) {
	size := [3]int{1, 1, 1}
	for i := 0; p.tok.kind == tokNumber; i++ {
		n, err := p.integer()
		if err != nil {
			return size, err
		}
		if i == len(size) {
			return size, p.errorf("a directive has three sizes at most")
		}
		size[i] = int(min(n, maxExtent))
		p.accept(",")
	}
	return size, nil
}
