// Package conformance holds the tests that every algorithm of the catalog
// passes, and nothing else: a new algorithm of the catalog is tested here without further work.
package conformance
