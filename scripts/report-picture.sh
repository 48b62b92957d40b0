#!/usr/bin/env bash
# Makes docs/report.png of a result: scripts/report-picture.sh bench.json [HEIGHT]. Needs chromium.
#
# The result in the picture is of: gpurun --nproc-per-node 2 --device cuda bench allreduce -d bfloat16 --algo auto,all,nccl
# -b 1K -e 64M -f 4 -J bench.json. The height is that of verdict and plots, in pixels.
set -euo pipefail
result=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$result" "$work/bench.json"
go build -o "$work/gpurun" ./cmd/gpurun
(cd "$work" && ./gpurun report bench.json -o report.html)
chromium --headless=new --no-sandbox --hide-scrollbars --window-size="1200,${2:-1350}" --virtual-time-budget=3000 \
  --screenshot=docs/report.png "file://$work/report.html" 2>/dev/null
[ "$(stat -c %s docs/report.png)" -lt 200000 ] || { echo "docs/report.png has more than 200 KB"; exit 1; }
