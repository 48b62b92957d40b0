#!/usr/bin/env bash
# Builds into build/ what verify-on-gpus.sh needs, for a GPU machine that has
# no Go: gpurun itself and the test binaries that hold GPU tests.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0 GOOS=linux GOARCH=${GOARCH:-amd64}
mkdir -p build
go build -trimpath -ldflags='-s -w' -o build/gpurun ./cmd/gpurun
go test -c -trimpath -ldflags='-s -w' -o build/driver.test ./cudart/driver
go test -c -trimpath -ldflags='-s -w' -o build/allreduce.test ./kernels/allreduce
ls -l build
