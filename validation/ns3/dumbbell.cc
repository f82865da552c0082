// TCP flows through one bottleneck in ns-3.37, for a comparison with the same setting here.
//
//     make && ./dumbbell --disc=red --seed=1 && ./dumbbell --disc=pie --law=cubic --flows=5 --rate=60Mbps
//
// Prints one line of JSON: what was measured at the bottleneck's queue disc after the warm-up. The settings that both
// sides share are named below; their counterparts are in dumbbell.toml.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

const uint32_t PAYLOAD = 1000; // bytes; IP and TCP without options add 40, PPP 2
const double STARTS = 5;       // the flows start uniformly within the first 5 s
const double WARMUP = 20;      // s
const Time ONE_WAY = MilliSeconds(10); // of the bottleneck

/// Packets in a queue, weighted by time, from a moment on.
class TimeWeighted
{
  public:
    /// Forget what was before now.
    void Begin()
    {
        m_since = m_begin = Simulator::Now();
        m_sum = m_squares = 0;
    }

    /// The queue has changed to `now` packets.
    void Changed(uint32_t, uint32_t now)
    {
        const double held = (Simulator::Now() - m_since).GetSeconds();
        m_sum += held * m_packets;
        m_squares += held * m_packets * m_packets;
        m_since = Simulator::Now();
        m_packets = now;
    }

    double Mean() const { return m_sum / (m_since - m_begin).GetSeconds(); }

    double Deviation() const
    {
        return std::sqrt(m_squares / (m_since - m_begin).GetSeconds() - Mean() * Mean());
    }

  private:
    Time m_begin;
    Time m_since;
    double m_packets{0};
    double m_sum{0};
    double m_squares{0};
};

/// NewReno that halves the data in flight as RFC 5681, eq. (4), counts them: sent and not cumulatively acknowledged,
/// what limited transmit sent left out. ns-3's own halves the pipe of RFC 6675, less what was SACKed or lost.
class HalvesFlight : public TcpNewReno
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("HalvesFlight").SetParent<TcpNewReno>().AddConstructor<HalvesFlight>();
        return tid;
    }

    uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t) override
    {
        const uint32_t outstanding = state->m_highTxMark.Get() - state->m_lastAckedSeq;
        return std::max(2 * state->m_segmentSize, std::min(outstanding, state->m_cWnd.Get()) / 2);
    }

    Ptr<TcpCongestionOps> Fork() override { return CopyObject<HalvesFlight>(this); }
};

/// What sets the window. Of ns-3.37's CUBIC slow start is RFC 5681's here, as it is there.
TypeId
Window(const std::string& law)
{
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(false));
    if (law == "newreno")
    {
        return HalvesFlight::GetTypeId();
    }
    if (law == "stock")
    {
        return TcpNewReno::GetTypeId();
    }
    return TypeId::LookupByName(law == "cubic" ? "ns3::TcpCubic" : law == "dctcp" ? "ns3::TcpDctcp" : "ns3::TcpBbr");
}

/// TCP: a window with SACK (RFC 5681, 6675), no timestamps, every segment acknowledged, RFC 6298 timers.
void
ConfigureTcp(const std::string& law, bool ecn)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(Window(law)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MilliSeconds(1)));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(ecn ? "On" : "Off"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(PAYLOAD));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(8 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(8 << 20));
    Config::SetDefault("ns3::RttEstimator::InitialEstimation", TimeValue(Seconds(1)));
}

/// The disc by its name here, every attribute that matters set. PIE marks without derandomisation: ns-3 forgets to
/// clear the sum of p at a mark, and from 8.5 on marks every packet.
TrafficControlHelper
Disc(const std::string& name, const std::string& buffer, const std::string& rate, bool ecn)
{
    TrafficControlHelper helper;
    const StringValue size(buffer + "p");
    const BooleanValue marks(ecn);
    if (name == "droptail")
    {
        helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", size);
    }
    else if (name == "red")
    {
        helper.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", size, "UseEcn", marks,
            "UseHardDrop", BooleanValue(true), "MinTh", DoubleValue(30), "MaxTh", DoubleValue(90),
            "QW", DoubleValue(0.002), "LInterm", DoubleValue(10), "Gentle", BooleanValue(true),
            "Wait", BooleanValue(true), "ARED", BooleanValue(false), "MeanPktSize", UintegerValue(1042),
            "LinkBandwidth", StringValue(rate), "LinkDelay", TimeValue(ONE_WAY));
    }
    else if (name == "step") // marks from 65 packets on, as DCTCP asks for: RED of the queue itself, without a slope
    {
        helper.SetRootQueueDisc("ns3::RedQueueDisc", "MaxSize", size, "UseEcn", BooleanValue(true),
            "UseHardDrop", BooleanValue(false), "MinTh", DoubleValue(65), "MaxTh", DoubleValue(65),
            "QW", DoubleValue(1), "Gentle", BooleanValue(false), "MeanPktSize", UintegerValue(1042),
            "LinkBandwidth", StringValue(rate), "LinkDelay", TimeValue(ONE_WAY));
    }
    else if (name == "codel")
    {
        helper.SetRootQueueDisc("ns3::CoDelQueueDisc", "MaxSize", size, "UseEcn", marks,
            "MinBytes", UintegerValue(1500), "Target", StringValue("5ms"), "Interval", StringValue("100ms"));
    }
    else if (name == "pie")
    {
        helper.SetRootQueueDisc("ns3::PieQueueDisc", "MaxSize", size, "UseEcn", marks,
            "QueueDelayReference", StringValue("15ms"), "Tupdate", StringValue("15ms"), "A", DoubleValue(0.125),
            "B", DoubleValue(1.25), "MaxBurstAllowance", StringValue("150ms"), "MarkEcnThreshold", DoubleValue(0.1),
            "UseDequeueRateEstimator", BooleanValue(false), "UseCapDropAdjustment", BooleanValue(true),
            "UseDerandomization", BooleanValue(!ecn), "ActiveThreshold", TimeValue(Time::Max()));
    }
    else if (name == "cobalt")
    {
        helper.SetRootQueueDisc("ns3::CobaltQueueDisc", "MaxSize", size, "UseEcn", marks,
            "Target", StringValue("5ms"), "Interval", StringValue("100ms"), "Pdrop", DoubleValue(0),
            "Increment", DoubleValue(1.0 / 256), "Decrement", DoubleValue(1.0 / 4096),
            "BlueThreshold", StringValue("400ms"));
    }
    else if (name == "fq-codel")
    {
        helper.SetRootQueueDisc("ns3::FqCoDelQueueDisc", "MaxSize", size, "UseEcn", marks,
            "Target", StringValue("5ms"), "Interval", StringValue("100ms"), "Flows", UintegerValue(1024),
            "DropBatchSize", UintegerValue(64), "EnableSetAssociativeHash", BooleanValue(true),
            "SetWays", UintegerValue(8));
    }
    else
    {
        NS_FATAL_ERROR("no disc named " << name);
    }
    return helper;
}

/// Round-trip propagation of a flow, evenly from 62 to 138 ms: of twenty flows 62, 66, ... 138 ms.
Time
RoundTrip(uint32_t flow, uint32_t flows)
{
    return MilliSeconds(62 + 76 * flow / (flows - 1));
}

/// A point-to-point link that takes no noticeable time to send, its addresses, and no disc of its own.
void
Access(Ptr<Node> host, Ptr<Node> router, Time delay, const std::string& network)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000p"));
    const NetDeviceContainer devices = link.Install(host, router);
    Ipv4AddressHelper(network.c_str(), "255.255.255.0").Assign(devices);
    TrafficControlHelper().Uninstall(devices);
}

/// The bottleneck: the disc before a device that holds one packet; the way back takes no noticeable time to send.
Ptr<QueueDisc>
Bottleneck(NodeContainer routers, const TrafficControlHelper& disc, const std::string& rate)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(ONE_WAY));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
    const NetDeviceContainer devices = link.Install(routers);
    devices.Get(1)->SetAttribute("DataRate", StringValue("10Gbps"));
    TrafficControlHelper helper = disc;
    const QueueDiscContainer discs = helper.Install(devices.Get(0));
    Ipv4AddressHelper("10.0.0.0", "255.255.255.0").Assign(devices);
    return discs.Get(0);
}

/// Unlimited data from one host to the other; what receives it.
Ptr<PacketSink>
Flow(Ptr<Node> from, Ptr<Node> to, Time start)
{
    const uint16_t port = 5000;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    const Ipv4Address address = to->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(address, port));
    bulk.SetAttribute("SendSize", UintegerValue(PAYLOAD));
    bulk.Install(from).Start(start);
    return DynamicCast<PacketSink>(sink.Install(to).Get(0));
}

/// Counts at one moment: packets at the disc, bytes that the receivers have read.
struct Counts
{
    double arrived;
    double dropped;
    double marked;
    double received;
};

Counts
Count(Ptr<QueueDisc> disc, const std::vector<Ptr<PacketSink>>& sinks)
{
    const QueueDisc::Stats& all = disc->GetStats();
    double received = 0;
    for (const auto& sink : sinks)
    {
        received += sink->GetTotalRx();
    }
    return {double(all.nTotalReceivedPackets),
            double(all.nTotalDroppedPackets),
            double(all.nTotalMarkedPackets),
            received};
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string name = "droptail";
    std::string rate = "20Mbps";
    std::string buffer = "1000";
    double duration = 100;
    uint32_t seed = 1;
    uint32_t flows = 20;
    std::string law = "newreno";
    bool ecn = false;
    CommandLine cmd(__FILE__);
    cmd.AddValue("disc", "droptail, red, step, codel, pie, cobalt or fq-codel", name);
    cmd.AddValue("rate", "rate of the bottleneck", rate);
    cmd.AddValue("buffer", "packets that the disc holds", buffer);
    cmd.AddValue("duration", "seconds", duration);
    cmd.AddValue("seed", "number of the run", seed);
    cmd.AddValue("flows", "number of flows", flows);
    cmd.AddValue("law", "newreno, stock (ns-3's own NewReno, which halves the pipe), cubic, dctcp or bbr", law);
    cmd.AddValue("ecn", "senders, receivers and the disc speak ECN", ecn);
    cmd.Parse(argc, argv);
    RngSeedManager::SetRun(seed);
    ConfigureTcp(law, ecn);

    NodeContainer routers(2);
    NodeContainer senders(flows);
    NodeContainer receivers(flows);
    InternetStackHelper stack;
    stack.InstallAll();
    const Ptr<QueueDisc> disc = Bottleneck(routers, Disc(name, buffer, rate, ecn), rate);
    Ptr<UniformRandomVariable> starts = CreateObject<UniformRandomVariable>();
    starts->SetAttribute("Max", DoubleValue(STARTS));
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < flows; i++)
    {
        const Time side = (RoundTrip(i, flows) - 2 * ONE_WAY) / 4;
        Access(senders.Get(i), routers.Get(0), side, "10.1." + std::to_string(i) + ".0");
        Access(receivers.Get(i), routers.Get(1), side, "10.2." + std::to_string(i) + ".0");
        sinks.push_back(Flow(senders.Get(i), receivers.Get(i), Seconds(starts->GetValue())));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    TimeWeighted queue;
    disc->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&TimeWeighted::Changed, &queue));
    Simulator::Stop(Seconds(WARMUP));
    Simulator::Run();
    queue.Changed(0, disc->GetNPackets());
    queue.Begin();
    const Counts before = Count(disc, sinks);
    Simulator::Stop(Seconds(duration - WARMUP));
    Simulator::Run();
    queue.Changed(0, disc->GetNPackets());
    const Counts after = Count(disc, sinks);

    const double arrived = after.arrived - before.arrived;
    std::cout << "{\"drop_ratio\": " << (after.dropped - before.dropped) / arrived
              << ", \"mark_ratio\": " << (after.marked - before.marked) / arrived
              << ", \"queue_mean\": " << queue.Mean() << ", \"queue_std\": " << queue.Deviation()
              << ", \"goodput\": " << 8 * (after.received - before.received) / (duration - WARMUP) << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
