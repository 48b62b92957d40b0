package check

import "slices"

// countOnce adds what was found, unless the list has the same already, which counts it then.
func countOnce[T any](all *[]T, found T, same func(T) bool, count func(*T)) {
	if i := slices.IndexFunc(*all, same); i >= 0 {
		count(&(*all)[i])
		return
	}
	*all = append(*all, found)
}
