#!/bin/sh
# First process of the virtual machine. It creates a container for each node of /etc/nodes (name address), with
# namespaces for network, processes, mounts and host name, and with an ssh server. A bridge connects the containers.
set -u
export PATH=/usr/bin:/usr/sbin:/bin:/sbin
mkdir -p /proc /sys /dev /run /tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /var/log /var/run
mount -t devpts devpts /dev/pts
. /etc/machine  # DEADLINE_S, PREFIX, MACHINE: set by the host
(sleep "$DEADLINE_S"; echo "deadline"; poweroff -f) &
for module in $MODULES; do modprobe "$module" || echo "no module $module"; done
chmod 700 /root /root/.ssh
ip link set lo up
ip link add br0 type bridge forward_delay 0
ip link set eth0 master br0 up
ip address add "$MACHINE/$PREFIX" dev br0
ip link set br0 up
echo "clock: $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"
number=0
while read -r name address; do
  number=$((number + 1))
  ip netns add "$name"
  ip link add "port$number" type veth peer name eth0 netns "$name"
  ip link set "port$number" master br0 up
  ip -n "$name" link set lo up
  ip -n "$name" address add "$address/$PREFIX" dev eth0
  ip -n "$name" link set eth0 up
  nsenter --net="/run/netns/$name" unshare --mount --pid --fork --uts /bin/node "$name" </dev/null &
done </etc/nodes
/usr/bin/dropbear -F -E -s -m -r /etc/ssh_host_key -P /run/dropbear.pid &
echo "ready"
while :; do wait; sleep 3600; done
