package check

// Keep keeps a value for later runs of the checker, under a key that says all that the value depends on: what costs time
// and is the same in all schedules, such as inputs. Nobody changes the value from then on.
func (r *Rank) Keep(key string, value any) { r.run.checker.kept.Store(key, value) }

// Kept is what a run of the checker has kept under a key, or nil. Runs go on at the same time, so that what a run
// reports must not depend on it.
func (r *Rank) Kept(key string) any {
	value, _ := r.run.checker.kept.Load(key)
	return value
}
