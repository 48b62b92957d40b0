#!/usr/bin/env bash
# Runs the cells of the fault matrix that set the clock, on an emulated machine, whose clock nobody else uses:
#
#     scripts/fault-clock.sh KERNEL
#
# The clock jumps an hour forward and back, then two hours back and forward. It takes one minute. On Debian, as root:
#
#     apt-get install qemu-system-x86 cpio
#     apt-get download linux-image-6.1.0-56-cloud-amd64      the version that linux-image-cloud-amd64 depends on
#     dpkg -x linux-image-*.deb kernel                       kernel/boot/vmlinuz-* is KERNEL
set -euo pipefail
kernel=$(realpath "${1:?usage: $0 KERNEL}")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{dev,proc,tmp,usr/bin,usr/lib,usr/lib64,work}
ln -s usr/bin usr/lib usr/lib64 "$root"
export CGO_ENABLED=0
go build -trimpath -o "$root/init" ./scripts/packages/arm64init
go test -c -trimpath -vet=off -o "$root/usr/bin/gpurun.test" ./cmd/gpurun

# The programs of the jobs, and the libraries that all of them load.
for name in sh cat date env ip sleep timeout touch; do
  cp -L "$(type -P "$name")" "$root/usr/bin"
done
for file in "$root"/usr/bin/*; do
  ldd "$file" | grep -o '/lib[^ ]*' | while read -r library; do
    install -D "$library" "$root/usr$library"
  done
done

cat >"$root/run" <<'RUN'
ip link set lo up
cd /work
for GPURUN_FAULTS_CLOCK in 1h -2h; do
  export GPURUN_FAULTS_CLOCK
  GPURUN_FAULTS='^clock' gpurun.test -test.run '^TestFaultMatrix$' -test.v || exit
done
RUN
echo 'sh /run' >"$root/commands"
(cd "$root" && find . | cpio --quiet -o -H newc) | gzip -1 >"$work/initrd"
timeout 900 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 2048 -nographic -no-reboot -nic none \
  -kernel "$kernel" -initrd "$work/initrd" -append "console=ttyS0 quiet panic=-1" | tee "$work/log"
grep -q '^end of commands' "$work/log" || { echo "the machine stopped before the end"; exit 1; }
! grep -q '^FAILED' "$work/log" || { echo "a cell failed"; exit 1; }
[ "$(grep -c 'PASS: TestFaultMatrix/cells/clock' "$work/log")" = 12 ] || { echo "not all cells ran"; exit 1; }
