package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"gpurun/kernels/collective"
)

// Mailboxes for any bits keep the words that no mailbox can hold under the first keys.
// Each row of 128 words excludes the first 128 keys of kernels/device/keyed_mailbox.cuh.
func TestWordsThatExcludeTheFirstKeys(t *testing.T) {
	t.Parallel()
	const firstKey, rowWords, count = 0x9e3779b9, 128, 500
	words := make([]byte, 0, 4*count)
	for i := range uint32(count) {
		words = binary.LittleEndian.AppendUint32(words, ^(firstKey + 2*(i%rowWords)))
	}
	tried := 0
	forEachAlgorithm(t, func(t *testing.T, a *collective.Algorithm) {
		if a.Name != "lamport" {
			return
		}
		tried++
		group{world: 3}.run(t, func(m *member) error {
			if err := m.stream.Upload(m.comm.Local(m.send), words); err != nil {
				return err
			}
			m.meet()
			defer m.meet() // memory stays until all are done
			want := words
			if a.Collective == "allgather" {
				want = bytes.Repeat(words, m.world)
			}
			got := make([]byte, len(want))
			err := errors.Join(m.enqueueAny(a), m.synchronize())
			if err = errors.Join(err, m.stream.Download(got, m.comm.Local(m.recv)), m.synchronize()); err != nil {
				return err
			}
			if !bytes.Equal(got, want) {
				return fmt.Errorf("%s: the words are not those of the input", a.Collective)
			}
			return nil
		})
	})
	if tried != 2 {
		t.Errorf("tried %d algorithms, want broadcast's and allgather's", tried)
	}
}
