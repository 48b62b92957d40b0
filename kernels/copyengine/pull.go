package copyengine

import (
	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// Pull copies so many bytes from every peer, from and to where place says, beginning with
// the next rank's, so that not all copy from the same one.
func Pull(c *collective.Comm, s cudart.Stream, bytes int64, place func(peer int) (to, from cudart.DevicePtr)) error {
	for k := 1; k < c.World(); k++ {
		to, from := place((c.Rank() + k) % c.World())
		if err := s.Copy(to, from, bytes); err != nil {
			return err
		}
	}
	return nil
}
