package output

import (
	"io"
	"io/fs"
	"os"
	"sync"
)

// Console is one of the agent's own streams, to which many workers write.
type Console struct {
	mu *sync.Mutex
	to io.Writer
}

// Consoles returns those of standard output and error. They take turns where both are
// the same terminal, pipe or file.
func Consoles(stdout, stderr io.Writer) (out, err *Console) {
	out, err = &Console{mu: new(sync.Mutex), to: stdout}, &Console{mu: new(sync.Mutex), to: stderr}
	if sameFile(stdout, stderr) {
		err.mu = out.mu
	}
	return out, err
}

func (c *Console) write(p []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.to.Write(p)
	return err
}

// sameFile reports whether two outputs are the same terminal, pipe or file.
func sameFile(a, b io.Writer) bool {
	type file interface{ Stat() (fs.FileInfo, error) } // as an *os.File and a *BoundedWriter have
	fileA, okA := a.(file)
	fileB, okB := b.(file)
	if !okA || !okB {
		return false
	}
	infoA, errA := fileA.Stat()
	infoB, errB := fileB.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
