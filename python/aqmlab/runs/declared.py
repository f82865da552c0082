"""The results of a run as typed classes, in SI units (s, bit/s) or packets.

Written by `make docs` from the declarations in crates/sim/src; do not edit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aqmlab.runs.metric import Measured


@dataclass(frozen=True)
class CallResult(Measured):
    """The datagrams of a group after the warm-up, over all its flows, and a G.711 call over them."""

    sent: int
    """Datagrams sent. Unit: packets."""
    loss_ratio: float
    """Datagrams that were not received over those sent."""
    r_factor: float | None
    """Transmission rating of a G.711 call that waits for 99 % of the packets (ITU-T G.107)."""
    mos: float | None
    """Mean opinion score of that call, 1 to 4.5 (ITU-T G.107)."""


@dataclass(frozen=True)
class VideoResult(Measured):
    """The video of a group's viewers after the warm-up, all together."""

    segments: int
    """Segments of video requested after the warm-up and completed."""
    bitrate_mean: float | None
    """Mean bitrate of the segments of video. Unit: bit/s."""
    switches: int
    """Changes of the bitrate from one segment to the next."""
    stalls: int
    """Times the playback buffer ran empty."""
    stall_time: float
    """Time for which the playback buffer was empty. Unit: s."""


@dataclass(frozen=True)
class MediaResult(Measured):
    """The media of a group after the warm-up, over all its flows."""

    frames: int
    """Frames that the encoders have made."""
    target: float | None
    """Mean target rate that the rate control gave the encoders. Unit: bit/s."""
    frame_delay_mean: float | None
    """Mean time from the capture of a frame to the arrival of its last packet. Unit: s."""
    frame_delay_p95: float | None
    """95 % of the frames are complete at most this long after their capture. Unit: s."""
    frame_delay_p99: float | None
    """99 % of the frames are complete at most this long after their capture. Unit: s."""
    display_delay_mean: float | None
    """Mean time from the capture of a frame to its display. Unit: s."""
    late_ratio: float | None
    """Frames that were complete after they should have been shown, over frames that were shown or lost."""
    lost_ratio: float | None
    """Frames that were never complete, over frames that were shown or lost."""
    freezes: int
    """Number of freezes (W3C `freezeCount`)."""
    freeze_ratio: float | None
    """Share of the time in which the picture was frozen."""
    rate_variation: float | None
    """Standard deviation of the rate that arrives, over its mean."""
    resent: int
    """Packets retransmitted. Unit: packets."""
    feedback_rate: float
    """Rate of feedback on the reverse path, with IP's header. Unit: bit/s."""
    rates: Sequence[Sequence[float]] | None = None
    """For each flow, the media that arrived in each second of the run, bit/s."""


@dataclass(frozen=True)
class SlowdownResult(Measured):
    """Completion times of transfers over a fabric after the warm-up, over those in an empty network."""

    p50: float | None
    """Median of the completion time over the time in an empty network."""
    p95: float | None
    """95th percentile of the completion time over the time in an empty network."""
    p99: float | None
    """99th percentile of the completion time over the time in an empty network."""
    p50_by_size: Sequence[tuple[float, float | None]]
    """Median by size: maximum size of a class, bytes, and slowdown."""
    p95_by_size: Sequence[tuple[float, float | None]]
    """95th percentile by size."""
    p99_by_size: Sequence[tuple[float, float | None]]
    """99th percentile by size."""
    count_by_size: Sequence[tuple[float, float | None]]
    """Transfers of each class."""


@dataclass(frozen=True)
class FlowResult(Measured):
    """A group of flows after the warm-up, or all of them."""

    count: int
    """Connections, sources, sessions or hosts."""
    goodput: float
    """Payload received by all flows. Unit: bit/s."""
    goodput_min: float | None
    """Minimum payload of one flow. Unit: bit/s."""
    goodput_p50: float | None
    """Half of the flows receive at most this payload. Unit: bit/s."""
    goodput_max: float | None
    """Maximum payload of one flow. Unit: bit/s."""
    jain: float | None
    """Fairness of the flows' goodput, by Jain's index."""
    received: int
    """Packets received, retransmissions included. Unit: packets."""
    marked: int
    """Packets received with a congestion mark. Unit: packets."""
    dropped: int
    """Packets dropped by the queues on their path. Unit: packets."""
    drop_ratio: float
    """Packets dropped over packets dropped or received."""
    packet_delay_mean: float | None
    """Mean time from source to destination. Unit: s."""
    packet_delay_std: float | None
    """Standard deviation of the time from source to destination. Unit: s."""
    packet_delay_p50: float | None
    """Half of the packets take at most this long. Unit: s."""
    packet_delay_p95: float | None
    """95 % of the packets take at most this long. Unit: s."""
    packet_delay_p99: float | None
    """99 % of the packets take at most this long. Unit: s."""
    packet_delay_p999: float | None
    """99.9 % of the packets take at most this long. Unit: s."""
    packet_delay_variation_p99: float | None
    """99th percentile of the packet delay minus its minimum (RFC 5481). Unit: s."""
    qoo_web: float | None
    """Quality of Outcome of browsing over such a path, 0 to 100 (draft-ietf-ippm-qoo)."""
    qoo_conferencing: float | None
    """Quality of Outcome of a video conference, 0 to 100."""
    qoo_gaming: float | None
    """Quality of Outcome of a game, 0 to 100."""
    qoo_backup: float | None
    """Quality of Outcome of a backup, 0 to 100."""
    rpm: float | None
    """Round trips per minute of its packets (RPM, draft-ietf-ippm-responsiveness)."""
    segment_delay_mean: float | None
    """Mean time from the first transmission of a segment to its arrival. Unit: s."""
    segment_delay_std: float | None
    """Standard deviation of the time from the first transmission of a segment to its arrival. Unit: s."""
    segment_delay_p99: float | None
    """99 % of the segments arrive at most this long after their first transmission. Unit: s."""
    power: float | None
    """Goodput over mean packet delay. Unit: bit/s^2."""
    retransmits: int
    """Segments retransmitted. Unit: packets."""
    timeouts: int
    """Expiries of the retransmission timer."""
    ecn_reductions: int
    """Reductions of the window after a congestion mark."""
    transfers: int
    """Transfers that began after the warm-up and are complete."""
    failed: int
    """Connections given up because no SYN was answered, and QUIC connections that timed out."""
    fct_mean: float | None
    """Mean time from the request of a transfer to its last ACK. Unit: s."""
    fct_p50: float | None
    """Half of the transfers take at most this long. Unit: s."""
    fct_p95: float | None
    """95 % of the transfers take at most this long. Unit: s."""
    fct_p99: float | None
    """99 % of the transfers take at most this long. Unit: s."""
    phases: Sequence[Sequence[tuple[float, str]]] | None = None
    """For each flow, the phases that its sender entered: times from the start of the run, s, and names."""
    call: CallResult | None = None
    """The datagrams of the group, if it sends any."""
    video: VideoResult | None = None
    """Adaptive video, if that is its kind."""
    media: MediaResult | None = None
    """Frames of adaptive video calls, if that is its kind."""
    slowdown: SlowdownResult | None = None
    """Completion times over those in an empty network, on a fabric."""


@dataclass(frozen=True)
class LinkResult(Measured):
    """A link after the warm-up. The packet in service does not wait."""

    schemes: Sequence[tuple[str, str]]
    """The schemes of the link, each with the time from which it was there, in order."""
    utilisation: float
    """Bits sent, headers included, over the bits that the link could have carried."""
    capacity: float
    """Capacity: the mean rate at which the link could have sent. Unit: bit/s."""
    capacity_unused: float
    """Capacity left unused: the rate at which the link could have carried more. Unit: bit/s."""
    drop_ratio: float
    """Packets dropped over packets that arrived."""
    mark_ratio: float
    """Packets marked over packets that arrived."""
    queue_mean: float
    """Time-weighted mean of the packets waiting. Unit: packets."""
    queue_std: float
    """Time-weighted standard deviation of the packets waiting. Unit: packets."""
    queue_p95: int
    """95 % of the time the queue is at most this long. Unit: packets."""
    queue_delay_mean: float | None
    """Mean time from arrival to start of service. Unit: s."""
    queue_delay_std: float | None
    """Standard deviation of the queueing delay. Unit: s."""
    queue_delay_p99: float | None
    """99 % of the packets wait at most this long. Unit: s."""
    settling_time: float | None
    """Time from which the mean queue over 1 s stays within 10 % of the buffer around the target. Unit: s."""
    settling: Sequence[tuple[float, float | None]]
    """For the start and each scripted change: its time, and how long the queue takes to settle."""
    transient: float | None
    """Time from which the mean queue over 5 s stays within 10 % of the buffer around the target. Unit: s."""
    queue_mean_settled: float | None
    """Mean of the packets waiting after the transient. Unit: packets."""
    queue_error: float | None
    """Root mean square of the packets waiting minus the target, over the target."""
    arrived: int
    """Packets offered to the queue. Unit: packets."""
    departed: int
    """Packets taken into service. Unit: packets."""
    dropped: int
    """Packets dropped. Unit: packets."""
    marked: int
    """Packets marked. Unit: packets."""
    sanctioned: int
    """Packets that queue protection has sent to the classic queue. Unit: packets."""
    lost: int
    """Packets sent and lost on the wire. Unit: packets."""
    policed: int
    """Packets for which the link's policer had too few tokens, dropped or marked. Unit: packets."""
    loss_synchronisation: float | None
    """Share of the long flows that lose a packet in the same loss event, on average."""
    update_rate: float | None
    """Periodic updates of the scheme per second. Unit: 1/s."""
    drops: Mapping[str, int]
    """Dropped packets by reason."""


@dataclass(frozen=True)
class StationResult(Measured):
    """A station of a Wi-Fi cell after the warm-up, or several that are alike, on average."""

    count: int
    """Number of identical stations."""
    airtime: float
    """Share of the time in which one station is on the air, with block ACKs and its part of collisions."""
    airtime_share: float
    """Airtime of one station over the airtime of all stations of the cell."""
    ampdu_mean: float | None
    """Mean number of MPDUs in an aggregate. Unit: packets."""
    mpdu_loss_ratio: float | None
    """Share of the MPDUs sent that did not arrive."""
