#!/usr/bin/env bash
# Makes a release twice and compares the bytes; installs the .deb, runs it and removes it; runs smoke in the root that
# the container image has. Needs Debian and root.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=0.0.0-test
work=$(mktemp -d)
trap 'umount "$work/root/proc" "$work/root/dev" 2>/dev/null; rm -rf "$work" dist' EXIT
export ARCHES=amd64

scripts/release.sh $version >/dev/null
cp dist/SHA256SUMS "$work/first"
scripts/release.sh $version >/dev/null
cmp "$work/first" dist/SHA256SUMS || { echo "two releases of the same commit differ"; exit 1; }
(cd dist && sha256sum --quiet -c SHA256SUMS)

tar -xzf dist/gpurun-$version-linux-amd64.tar.gz -C "$work"
archive=$work/gpurun-$version-linux-amd64
[ "$(stat -c %s "$archive/gpurun")" -lt 30000000 ] || { echo "gpurun is larger than 30 MB"; exit 1; }
for file in man/gpurun-bench.1.gz completions/gpurun.bash licenses/uplot/LICENSE licenses/google.golang.org/grpc/LICENSE; do
  [ -s "$archive/$file" ] || { echo "the archive has no $file"; exit 1; }
done
grep -q '"name": "google.golang.org/grpc"' dist/*.cdx.json || { echo "the SBOM does not name grpc"; exit 1; }

dpkg -i dist/gpurun_*.deb >/dev/null
[ "$(command -v gpurun)" = /usr/bin/gpurun ]
gpurun version | grep -qx "gpurun $version"
gpurun --device sim --nproc-per-node 2 allreduce -e 4K --algo oneshot >/dev/null
[ -s /usr/share/man/man1/gpurun.1.gz ]
dpkg -r gpurun >/dev/null
left=$(find /usr -name '*gpurun*')
[ -z "$left" ] || { echo "the package leaves behind: $left"; exit 1; }

scripts/packages/image.sh "$archive/gpurun" "$work/root"
mount -t proc proc "$work/root/proc" # as a container runtime does
mount --bind /dev "$work/root/dev"
chroot "$work/root" /usr/bin/gpurun --device sim --nproc-per-node 2 smoke --quick >"$work/smoke" || {
  cat "$work/smoke"
  echo "smoke fails in the image"
  exit 1
}
tail -n 1 "$work/smoke" | grep -q '^PASS'
echo "packages: the same bytes twice, installed, run, removed; smoke passes in the image"
