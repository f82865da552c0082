"""The commands that measure a link so that a fit identifies it."""

HOST = "HOST"
"""The placeholder of the other end in the commands."""
PLAN = """\
# {host} runs iperf3 -s, outside of your link. Stop other traffic. One direction takes 37 s.
ping -D -i 0.02 -w 37 {host} > down-ping.txt &
ping -D -i 0.02 -w 37 -Q 1 {host} > down-ping-ect1.txt &
sleep 5; iperf3 -c {host} -R -P 4 -t 30 -i 0.1 -J --get-server-output > down.json; wait
ping -D -i 0.02 -w 37 {host} > up-ping.txt &
ping -D -i 0.02 -w 37 -Q 1 {host} > up-ping-ect1.txt &
sleep 5; iperf3 -c {host} -P 4 -t 30 -i 0.1 -J --get-server-output > up.json; wait
aqmlab fit down.json down-ping.txt down-ping-ect1.txt up.json up-ping.txt up-ping-ect1.txt --out line.toml
"""
"""Pings give the base delay and the delay under load, with ECT(1) also the second queue of a dual queue. Four transfers
fill the buffer. The reports of both ends every 100 ms give rate, losses and the delay of each transfer."""


def commands(host: str = HOST) -> str:
    """Return the shortest set of commands that identifies a link, as a shell runs them."""
    return PLAN.format(host=host)
