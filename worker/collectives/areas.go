package collectives

import "context"

// checkRestored compares the areas that a call must leave as they were with their initial values.
func (r *run) checkRestored(ctx context.Context, t trial) error {
	return r.staging.CheckRestored(ctx, t.Algorithm, t.Algorithm.Restored, func(area int, dst []byte, at int64) error {
		return t.Algorithm.Initial(r.Comm, r.place(t.Case), area, dst, at)
	})
}
