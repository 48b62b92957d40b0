#!/bin/sh
# Collects what a container needs to run gpurun: image.sh GPURUN ROOT
#
# That is the binary, and of glibc the loader and the libraries which the NVIDIA driver's libraries are linked with. The
# driver itself is mounted by the container runtime.
set -eu
binary=$1 root=$2
mkdir -p "$root/usr/bin" "$root/tmp" "$root/proc" "$root/dev" "$root/etc"
chmod 1777 "$root/tmp"
cp "$binary" "$root/usr/bin/gpurun"
echo 'root:x:0:0:root:/:/usr/bin/gpurun' >"$root/etc/passwd"
libc=$(ldd "$binary" | sed -n 's/.*=> \(.*\/libc\.so\.6\) .*/\1/p')
loader=$(ldd "$binary" | sed -n 's/^[[:space:]]*\(\/[^ ]*\/ld-linux[^ ]*\) .*/\1/p')
[ -n "$libc" ] && [ -n "$loader" ] || { echo "ldd $binary names no glibc: a musl system?" >&2; exit 1; }
for file in "$loader" "$libc" "${libc%/*}"/libm.so.6 "${libc%/*}"/libdl.so.2 "${libc%/*}"/librt.so.1 \
  "${libc%/*}"/libpthread.so.0; do
  mkdir -p "$root$(dirname "$file")"
  cp -L "$file" "$root$file"
done
