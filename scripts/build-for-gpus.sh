#!/usr/bin/env bash
# Builds into build/ what verify-on-gpus.sh needs, for a GPU machine that has
# no Go: gpurun itself and the test binaries that hold GPU tests.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=0 GOOS=linux GOARCH=${GOARCH:-amd64}
mkdir -p build
go build -tags grpcnotrace -trimpath -ldflags='-s -w' -o build/gpurun ./cmd/gpurun
for package in cudart/driver cudart/sim cudart/sim/suite kernels/conformance; do
  go test -c -trimpath -ldflags='-s -w' -o "build/${package##*/}.test" "./$package"
done
ls -l build
[ "$(stat -c %s build/gpurun)" -lt 30000000 ] || { echo "build/gpurun is larger than 30 MB"; exit 1; }
