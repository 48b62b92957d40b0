#!/usr/bin/env bash
# Makes the files of a release in dist/: scripts/release.sh 1.2.3
#
# For each of ARCHES (default: amd64 arm64) a tar archive, a .deb and an .rpm with the binary, man pages, completions, the
# documents, and the licenses of what is linked; an SBOM (CycloneDX); and SHA256SUMS. The same commit gives the same
# bytes: times are those of the commit. Tools come by the Go module proxy, at the versions below.
set -euo pipefail
cd "$(dirname "$0")/.."
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
sbom=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

version=${1:-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || {
  echo "usage: $0 VERSION, a semantic version such as 1.2.3 or 1.2.3-rc.1" >&2
  exit 2
}
# A version without a suffix names one commit, with its entry in the change log.
if [[ $version != *-* ]]; then
  [ -z "$(git status --porcelain)" ] || { echo "commit what is changed first: git status" >&2; exit 1; }
  grep -q "^## \[$version\]" CHANGELOG.md || { echo "CHANGELOG.md has no entry [$version]" >&2; exit 1; }
fi

export CGO_ENABLED=0 GOOS=linux GOFLAGS=-trimpath VERSION=$version
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf dist
mkdir -p dist

# licenses FOLDER copies the licenses of all modules that are linked, of Go, and of what is embedded.
licenses() {
  mkdir -p "$1"
  go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/gpurun |
    sort -u | while read -r module dir; do
      found=$(find "$dir" -maxdepth 1 -iname 'LICEN[CS]E*' -o -maxdepth 1 -iname 'COPYING*' -o -maxdepth 1 -iname 'NOTICE*')
      [ -n "$found" ] || { echo "$module has no license" >&2; exit 1; }
      while read -r file; do
        install -D -m 644 "$file" "$1/${module%@*}/$(basename "$file")"
      done <<<"$found"
    done
  install -D -m 644 "$(go env GOROOT)/LICENSE" "$1/go/LICENSE"
  install -D -m 644 worker/result/webpage/assets/uplot/LICENSE "$1/uplot/LICENSE"
}

# documents FOLDER copies the README, the documents, and the files that they link to.
documents() {
  cp -r --parents README.md CHANGELOG.md docs "$1"
  git ls-files README.md 'docs/*.md' | while read -r file; do
    { grep -oP '\]\(\K[^)#:]+(?=[)#])' "$file" || true; } | while read -r link; do
      to=$(realpath --relative-to=. "$(dirname "$file")/$link")
      [ ! -f "$to" ] || cp --parents "$to" "$1"
    done
  done
}

# What is the same for all architectures.
GPURUN_MAN=$work/man go test ./cmd/gpurun -count 1 -run 'TestManPages$' >/dev/null
gzip -9n "$work"/man/*.1
GOARCH='' go build -o "$work/host" ./cmd/gpurun
# Go finds no commit where .git is a file, as in a worktree.
if [[ $version != *-* ]] && "$work/host" version | grep -q '^commit: unknown'; then
  echo "the binary does not know its commit: make the release in a clone" >&2
  exit 1
fi
mkdir "$work/completions"
for shell in bash zsh fish; do "$work/host" completion $shell >"$work/completions/gpurun.$shell"; done
licenses "$work/licenses"
mkdir "$work/documents"
documents "$work/documents"

for arch in ${ARCHES:-amd64 arm64}; do
  export GOARCH=$arch
  name=gpurun-$version-linux-$arch
  STAGE=$work/$name
  mkdir "$STAGE"
  go build -tags grpcnotrace -ldflags="-s -w -X $(go list -m)/cmd/gpurun/program.release=$version" -o "$STAGE/gpurun" ./cmd/gpurun
  cp -r LICENSE "$work"/documents/* "$work/man" "$work/completions" "$work/licenses" "$STAGE"
  find "$STAGE" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
  tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s -cf - "$name" |
    gzip -9n >"dist/$name.tar.gz"
  for package in deb rpm; do
    (cd "$STAGE" && GOARCH='' GOOS='' ARCH=$arch go run $nfpm package --packager $package \
      --config "$OLDPWD/scripts/packages/nfpm.yaml" --target "$OLDPWD/dist/")
  done
  GOARCH='' GOOS='' go run $sbom bin -json -noserial -notimestamp -std -version "$version" -output "dist/$name.cdx.json" \
    "$STAGE/gpurun" 2>/dev/null
done
(cd dist && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
ls -l dist
