// Package configs holds the configuration that ships in the binary. It is data:
// cmd/gpurun reads and explains it.
package configs

import "embed"

// Default is a TOML document with the default of every configuration key.
//
//go:embed default.toml
var Default []byte

// Simulator is a TOML document with the keys whose defaults differ when the
// simulator runs the kernels.
//
//go:embed sim.toml
var Simulator []byte

// Tune is a TOML document with the keys whose defaults differ when "gpurun tune"
// measures.
//
//go:embed tune.toml
var Tune []byte

// Smoke is a TOML document with the keys whose defaults differ when "gpurun
// smoke" runs.
//
//go:embed smoke.toml
var Smoke []byte

// SmokeSimulator is a TOML document with the keys whose defaults differ further
// when "gpurun smoke" runs in the simulator.
//
//go:embed smoke_sim.toml
var SmokeSimulator []byte

// Thresholds holds, in its folder thresholds, how fast results must be: a TOML
// document for each GPU model, in the form of package worker/result/gate.
//
//go:embed thresholds/*.toml
var Thresholds embed.FS

// Bench is a TOML document with the keys whose defaults differ when "gpurun bench"
// measures.
//
//go:embed bench.toml
var Bench []byte

// BenchSimulator is a TOML document with what differs from Bench and Simulator when
// "gpurun bench" measures in the simulator.
//
//go:embed bench_sim.toml
var BenchSimulator []byte

// Products is a TOML document with the keys whose defaults differ for products of
// matrices.
//
//go:embed products.toml
var Products []byte

// BenchProducts is a TOML document with what differs from Products when "gpurun bench"
// measures.
//
//go:embed bench_products.toml
var BenchProducts []byte

// BenchProductsSimulator is a TOML document with what differs from BenchProducts and
// Simulator when "gpurun bench" measures in the simulator.
//
//go:embed bench_products_sim.toml
var BenchProductsSimulator []byte

// Tuning holds, in its folder tuning, what was measured to be fastest: a TOML
// document for each GPU model, in the form of package kernels/tuning.
//
//go:embed tuning/*.toml
var Tuning embed.FS
