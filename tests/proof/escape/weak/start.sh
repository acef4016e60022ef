# As root of its own user namespace, with every capability in it: gives the sandbox a way out that leads nowhere, then starts the stand-in
# beside the attempts.
if command -v ip > /dev/null; then
  ip link set lo up
  ip route add default dev lo
  ip -6 route add default dev lo
fi
mkdir -p /home/agent/.claude/shell-snapshots /home/other /tmp/cc-socks /run/gw /root /boot /srv /mnt /media /var/log /opt/node_modules
mkdir -p /etc/ssh /sys/kernel /sys/fs/cgroup /sys/class/net /dev/net
touch /etc/shadow /etc/passwd /etc/resolv.conf /opt/claude /opt/sh-wrap /opt/bash /opt/strict.bpf /home/agent/.claude/settings.json
touch /dev/kmsg /dev/mem /dev/vsock /dev/sda /dev/vda /dev/fuse /dev/net/tun /dev/kvm /sys/fs/cgroup/cgroup.procs
ipcmk -M 16 > /dev/null
(exec -a claude sleep 60) &
export STACK_TOKEN=$1
bash -c 'exec -a /opt/node node /opt/runner/main.js "$@"' runner "$1" /tmp/ready &
while [ ! -e /tmp/ready ]; do sleep 0.05; done
exec 77< /host/shadow
cd /workspace && node escape/main.mjs "$1"
kill %1 %2
