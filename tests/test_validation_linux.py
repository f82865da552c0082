"""How the settings of validation/linux become scenarios, by hand from what tc and the kernel do with them."""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "validation"))

from linux_cases import Case


def case(qdisc: str = "pfifo limit 20", **group: Any) -> Case:
    group = {"law": "cubic", "count": 1, "ecn": False, "source": 1, "dscp": 0} | group
    return Case("x", qdisc, 1.0, 40.0, 60, 20, 1600, (group,))


def test_a_round_trip_has_no_transmission_behind_htb() -> None:
    # 1514 B take 12.112 ms at 1 Mbit/s and 12 us on the link behind CAKE's own shaper; the guest adds 0.4 ms.
    assert 'rtt = "28.2880 ms"' in case().toml()
    assert 'rtt = "128.2880 ms"' in case(rtt_ms=140).toml()
    assert 'rtt = "40.3879 ms"' in case("cake besteffort bandwidth 1mbit").toml()


def test_a_datagram_is_counted_without_its_headers() -> None:
    # iperf3: 10 Mbit/s of 1400 B, 1442 B on the link. Pings of 98 B, one in 100.7 ms.
    text = case(law="udp", rate_mbit=10).toml()
    assert 'rate = "10.3 Mbit/s"' in text
    assert f'rate = "{98 * 8 / 100.7e-3 / 1e6:.6g} Mbit/s"' in text


def test_a_step_of_red_is_one_of_its_average() -> None:
    # tc finds a weight of 1/4 for a burst of 21 (ewma 2 in the rows). Packets of 1514 B and pings of 98 B: 806 B.
    scheme, limit = case("red limit 605600 min 30280 max 30281 avpkt 1514 burst 21 probability 1 ecn").scheme
    assert scheme == "red:flavour=linux,min_th=37.568238 packets,max_th=37.569479 packets,max_p=1,q_weight=0.25"
    assert limit == 605600 / 806
