// Package mutants plants mistakes in every kernel that ships, and in the examples, and has the race checker find them:
// see docs/check-mutants.md, which its tests write. It has tests alone.
package mutants
