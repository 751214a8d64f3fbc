#!/bin/sh
# In a mount and a PID namespace of its own: boots <root> with systemd-nspawn, in control groups of its own. What the machine writes goes
# to <changes>, and <group> names the control groups.
#   boot-machine.sh <root> <changes> <group> [options of systemd-nspawn…]
set -eu
root=$1 changes=$2 group=$3
shift 3
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
  [ -e "$hierarchy/cgroup.procs" ] || continue
  mkdir -p "$hierarchy/$group"
  echo 0 >"$hierarchy/$group/cgroup.procs"
done
mount -t overlay overlay -o "lowerdir=$root,upperdir=$changes/upper,workdir=$changes/work" "$root"
exec systemd-nspawn --directory="$root" --boot --register=no --private-network --keep-unit --console=pipe --quiet "$@"
