#!/usr/bin/env bash
# Runs the whole fault matrix, in about 2 minutes on two cores, and writes docs/faults.md from what it measured:
#
#     scripts/fault-matrix.sh
#
# It needs root, for namespaces, control groups and mounts, and an etcd. What the machine forbids, the page lists as not
# run: scripts/fault-clock.sh runs the cells of the clock.
# `go test ./cmd/gpurun` runs one cell in 40, and one in 10 with GPURUN_EXHAUSTIVE=1.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0 GPURUN_FAULTS=. GPURUN_FAULTS_PAGE=$PWD/docs/faults.md
go test ./cmd/gpurun -run '^TestFaultMatrix$' -count=1 -vet=off -timeout 20m -v
