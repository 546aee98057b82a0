#!/bin/sh
# First process of a node; mounts its separate /proc, /sys, /run and /tmp.
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
hostname "$1"
exec /usr/bin/dropbear -F -E -s -m -r /etc/ssh_host_key -P /run/dropbear.pid
