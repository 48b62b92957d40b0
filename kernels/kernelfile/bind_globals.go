package kernelfile

// BoundGlobal is what a variable of a module holds.
type BoundGlobal struct {
	Global *Global
	Bytes  []byte
}

// BindGlobals evaluates the variables of [globals]. A module need not have all of them.
func (f *File) BindGlobals(call Call, m Memory) ([]BoundGlobal, error) {
	var all []BoundGlobal
	for i := range f.Globals {
		b := newBinder(f, call, m)
		var p packer
		if err := b.put(&p, &f.Globals[i].Arg); err != nil {
			return nil, err
		}
		all = append(all, BoundGlobal{&f.Globals[i], p.bytes})
	}
	return all, nil
}
