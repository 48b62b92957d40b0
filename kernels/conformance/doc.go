// Package conformance holds the tests that every algorithm of the catalog
// passes, and nothing else: whoever adds one finds it tested here.
package conformance
