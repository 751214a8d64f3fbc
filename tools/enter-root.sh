#!/bin/sh
# In a new mount and PID namespace: makes <root> the root folder, with /proc, /dev and /tmp as a container has them, and runs
# a program in it. `0` as the user keeps root's privileges; every other user has none, and cannot get any.
# Everything that is written outside of binds goes to <folder>/upper of --changes, and <root> stays as it is.
#   enter-root.sh <root> [--changes <folder>] [--bind <from> <to>] [--read-only <from> <to>] [--writable] -- <uid> <gid> <workdir> <program> [args…]
set -eu
root=$1
shift
writable=
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
  case $1 in
    --changes)
      mount -t overlay overlay -o "lowerdir=$root,upperdir=$2/upper,workdir=$2/work" "$root" && shift 2
      ;;
    --bind) mount --bind "$2" "$root$3" && shift 3 ;;
    --read-only) mount --bind "$2" "$root$3" && mount -o remount,bind,ro "$root$3" && shift 3 ;;
    --writable) writable=1 && shift ;;
    *) echo "What is $1?" >&2 && exit 2 ;;
  esac
done
shift
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/tmp"
mount -t tmpfs -o mode=755,nosuid tmpfs "$root/dev"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,nosuid,noexec devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for device in null zero full random urandom tty; do
  : >"$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
[ -n "$writable" ] || mount -o remount,bind,ro "$root"
cd "$root"
pivot_root . .
umount -l .
uid=$1 gid=$2
cd "$3"
shift 3
[ "$uid" != 0 ] || exec "$@"
exec setpriv --reuid "$uid" --regid "$gid" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all -- "$@"
