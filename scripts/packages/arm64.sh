#!/usr/bin/env bash
# Runs the arm64 binary of a release on an emulated arm64 machine with a real Linux: scripts/packages/arm64.sh KERNEL [BINARY]
#
# QEMU's user mode is not enough: it refuses PR_SET_CHILD_SUBREAPER, and cannot execute the binary again for each rank.
# Emulation takes minutes, so .ci/run leaves it out. On Debian, as root:
#
#     dpkg --add-architecture arm64 && apt-get update
#     apt-get install qemu-system-arm libc6-arm64-cross cpio
#     apt-get download linux-image-6.1.0-56-arm64:arm64       the version that linux-image-arm64:arm64 depends on
#     dpkg -x linux-image-*.deb kernel                        kernel/boot/vmlinuz-* is KERNEL
set -euo pipefail
kernel=${1:?usage: $0 KERNEL [BINARY]}
binary=${2:+$(realpath "$2")}
kernel=$(realpath "$kernel")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{usr/bin,lib,proc,dev,tmp}
export CGO_ENABLED=0 GOARCH=arm64
[ -n "$binary" ] || { binary=$work/gpurun && go build -tags grpcnotrace -trimpath -ldflags="-s -w" -o "$binary" ./cmd/gpurun; }
go build -o "$root/init" ./scripts/packages/arm64init
cp "$binary" "$root/usr/bin/gpurun"
cp -L /usr/aarch64-linux-gnu/lib/{ld-linux-aarch64,libc,libm,libdl,libpthread,librt}.so.[0-9] "$root/lib"
cp -r kernels/examples "$root"
cat >"$root/commands" <<'COMMANDS'
gpurun version
gpurun list
gpurun --device sim --nproc-per-node 2 allreduce -e 64K
gpurun --device sim --nproc-per-node 2 smoke --quick
gpurun check /examples/oneshot.toml --ranks 2 --schedules 4
gpurun --nproc-per-node 2 -- gpurun version
COMMANDS
(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$work/initrd"
timeout 900 qemu-system-aarch64 -M virt -cpu max -smp 2 -m 2048 -nographic -no-reboot -nic none -kernel "$kernel" \
  -initrd "$work/initrd" -append "console=ttyAMA0 quiet panic=-1" | tee "$work/log" | grep -v $'\r.*\e\\[K'
grep -q '^end of commands' "$work/log" || { echo "the machine stopped before the end"; exit 1; }
! grep -q '^FAILED' "$work/log" || { echo "a command failed"; exit 1; }
