#!/bin/bash
# The first process of the user-mode kernel: loads qdiscs and congestion control, runs guest.py over $CASES, halts. PROGRAM: what runs
# instead of guest.py.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /run
mkdir -p /run/netns
wanted='/(veth|sch_(netem|htb|codel|fq_codel|pie|red|gred|cake|choke|sfb|sfq|fq|tbf)|tcp_(bbr|dctcp|vegas|westwood))\.ko'
find /usr/lib/uml/modules/*/kernel -name '*.ko' | grep -E "$wanted" > /run/modules
for round in 1 2; do # a module may need another
    while read -r module; do insmod "$module" 2> /dev/null; done < /run/modules
done
/usr/bin/python3 "$HERE/${PROGRAM:-guest.py}" "$CASES" "$ROWS"
echo o > /proc/sysrq-trigger
sleep 1
/sbin/halt -f
