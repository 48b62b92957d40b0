#!/usr/bin/env bash
# Makes a release twice and compares the bytes; installs the .deb, runs it and removes it; builds the container image
# with buildah, without a daemon or a registry, and runs smoke in it. Needs Debian and root.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=0.0.0-test
work=$(mktemp -d)
trap 'rm -rf "$work" dist' EXIT
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
grep -oP '\]\(\K[^)#:]+(?=[)#])' "$archive/README.md" | while read -r link; do
  [ -e "$archive/$link" ] || { echo "the archive's README.md links to $link, which is not there"; exit 1; }
done
grep -q '"name": "google.golang.org/grpc"' dist/*.cdx.json || { echo "the SBOM does not name grpc"; exit 1; }

dpkg -i dist/gpurun_*.deb >/dev/null
[ "$(command -v gpurun)" = /usr/bin/gpurun ]
gpurun version | grep -qx "gpurun $version"
gpurun --device sim --nproc-per-node 2 allreduce -e 4K --algo oneshot >/dev/null
[ -s /usr/share/man/man1/gpurun.1.gz ] && [ -s /usr/share/doc/gpurun/docs/check.md ]
dpkg -r gpurun >/dev/null
left=$(find /usr -name '*gpurun*')
[ -z "$left" ] || { echo "the package leaves behind: $left"; exit 1; }

scripts/packages/image.sh "$archive/gpurun" "$work/image"
images() { buildah --root "$work/store" --runroot "$work/run" --storage-driver vfs "$@"; }
export BUILDAH_ISOLATION=chroot # no namespaces but for mounts
images build --quiet --file scripts/packages/Containerfile --tag gpurun "$work/image" >/dev/null
[ "$(images inspect --format '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}' gpurun)" = "[/usr/bin/gpurun] [smoke]" ]
container=$(images from gpurun)
images run "$container" -- /usr/bin/gpurun --device sim --nproc-per-node 2 smoke --quick >"$work/smoke" || {
  cat "$work/smoke"
  echo "smoke fails in the container"
  exit 1
}
tail -n 1 "$work/smoke" | grep -q '^PASS'
images rm --all >/dev/null
echo "packages: the same bytes twice, installed, run, removed; smoke passes in the container"
