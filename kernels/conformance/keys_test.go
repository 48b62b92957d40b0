package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// Mailboxes for any bits keep the words that no mailbox can hold under the first keys.
// Each row of 128 words excludes the first 128 keys of kernels/device/keyed_mailbox.cuh.
func TestWordsThatExcludeTheFirstKeys(t *testing.T) {
	t.Parallel()
	const firstKey, count = 0x9e3779b9, 500
	var tried []string
	forEachAlgorithm(t, func(t *testing.T, a *collective.Algorithm) {
		rowWords := uint32(128)
		switch {
		case isChain(a) && a.Collective == "broadcast":
			rowWords = 512 // of a group
		case a.Name != "lamport":
			return
		}
		words := make([]byte, 0, 4*count)
		for i := range uint32(count) {
			words = binary.LittleEndian.AppendUint32(words, ^(firstKey + 2*(i%rowWords)))
		}
		tried = append(tried, a.Collective)
		c, _ := kernels.Find(a.Collective)
		group{world: 3}.run(t, func(m *member) error {
			parts := func(in collective.Parts) []byte { return bytes.Repeat(words, int(in.Of(m.world))) } // all the same
			if err := m.stream.Upload(m.comm.Local(m.send), parts(c.Shape.Send)); err != nil {
				return err
			}
			m.meet()
			defer m.meet() // memory stays until all are done
			want := parts(c.Shape.Recv)
			got := make([]byte, len(want))
			err := errors.Join(m.enqueueAny(a), m.synchronize())
			if err = errors.Join(err, m.stream.Download(got, m.comm.Local(m.recv)), m.synchronize()); err != nil {
				return err
			}
			if c.Shape.Receives(m.rank, 0) && !bytes.Equal(got, want) {
				return fmt.Errorf("%s: the words are not those of the input", a.Collective)
			}
			return nil
		})
	})
	slices.Sort(tried)
	want := []string{"allgather", "alltoall", "broadcast", "broadcast", "gather", "scatter"}
	if !slices.Equal(tried, want) {
		t.Errorf("tried %v, want %v", tried, want)
	}
}
