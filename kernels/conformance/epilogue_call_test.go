package conformance

import (
	"bytes"
	"fmt"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// withEpilogue is the call with an epilogue; an epilogue by rows has rows of `row` elements.
func (c testCall) withEpilogue(kind collective.EpilogueKind, row int64) testCall {
	c.epilogue = collective.Epilogue{Kind: kind, Row: row, Scale: 0.3, Epsilon: 1e-5}
	return c
}

func (c testCall) epilogueWords() string {
	if c.epilogue.Kind == collective.NoEpilogue {
		return ""
	}
	return fmt.Sprintf(" %s of rows of %d", c.epilogue.Kind, c.epilogue.Row)
}

// placedEpilogue is the epilogue with its row of weights, its residual and its residual output in the three extra
// buffers of a member.
func (c testCall) placedEpilogue(m *member) collective.Epilogue {
	e := c.epilogue
	e.Weight, e.Residual, e.ResidualOut = m.extra, m.extra+m.bytes, m.extra+2*m.bytes+guardBytes
	return e
}

func (c testCall) referenceEpilogue(in reference.Input) reference.Epilogue {
	e := c.epilogue
	return reference.Epilogue{In: in, Kind: e.Kind, Row: e.Row, Scale: e.Scale, Epsilon: e.Epsilon}
}

// fillEpilogue writes the inputs of the epilogue, and poisons its residual output and the guards.
func (c testCall) fillEpilogue(m *member) error {
	if c.epilogue.Kind == collective.NoEpilogue {
		return nil
	}
	e, want := c.placedEpilogue(m), c.referenceEpilogue(c.in)
	row, residual := make([]byte, e.Row*int64(c.in.DType.Size)), make([]byte, c.partBytes())
	want.FillWeight(row)
	want.FillResidual(residual)
	poison := bytes.Repeat([]byte{guardByte}, len(residual)+2*guardBytes)
	if err := m.stream.Upload(m.comm.Local(e.ResidualOut-guardBytes), poison); err != nil {
		return err
	}
	if len(row) > 0 {
		if err := m.stream.Upload(m.comm.Local(e.Weight), row); err != nil {
			return err
		}
	}
	if len(residual) == 0 {
		return nil
	}
	return m.stream.Upload(m.comm.Local(e.Residual), residual)
}

// checkResidualOut verifies the residual output: every element that the epilogue stores, and that nothing else changed.
func (c testCall) checkResidualOut(m *member) error {
	if c.epilogue.Kind == collective.NoEpilogue {
		return nil
	}
	around := make([]byte, c.partBytes()+2*guardBytes)
	if err := m.stream.Download(around, m.comm.Local(c.placedEpilogue(m).ResidualOut-guardBytes)); err != nil {
		return err
	}
	got := around[guardBytes : len(around)-guardBytes]
	if c.epilogue.Kind == collective.RMSNorm {
		if v := c.referenceEpilogue(c.in).ResidualOut(got); v.Wrong != 0 {
			return fmt.Errorf("%s: residual out: %d wrong, first %d: want %#x, got %#x", c, v.Wrong, v.First, v.Want, v.Got)
		}
		around = append(around[:guardBytes:guardBytes], around[len(around)-guardBytes:]...)
	}
	if !bytes.Equal(around, bytes.Repeat([]byte{guardByte}, len(around))) {
		return fmt.Errorf("%s: bytes around the residual out changed", c)
	}
	return nil
}
