# Dumbbell of Li et al. (2014), Table 1, in stock ns-2.35.
#
#   source --access-- r1 ==bottleneck== r2 --access-- sink        RTPT = 2 * (2 * access + link) delay
#
# Usage: ns dumbbell.tcl ?key=value ...?      Prints one line of JSON. See README.md for the keys.

set birth [clock milliseconds]

# ---- parameters ----------------------------------------------------------------------------------

# `param`, because ns keeps a global `opt` of its own.
array set param {
    queue         PI
    flows         500
    rate_mbps     45
    rtt_ms        80
    rtt_min_ms    ""
    rtt_max_ms    ""
    target        300
    buffer        900
    duration      100
    seed          1
    topology      pairs
    min_th        15
    max_th        585
    link_delay_ms 20
    access_mbps   100
}

proc refuse {why} {
    puts stderr "dumbbell.tcl: $why"
    exit 2
}

foreach arg $argv {
    if {![regexp {^(\w+)=(.+)$} $arg -> key value]} { refuse "expected key=value, got '$arg'" }
    if {![info exists param($key)]} { refuse "unknown key '$key'; known: [lsort [array names param]]" }
    set param($key) $value
}

if {$param(rtt_min_ms) eq "" && $param(rtt_max_ms) eq ""} {
    set param(rtt_min_ms) $param(rtt_ms)
    set param(rtt_max_ms) $param(rtt_ms)
}
foreach {key kind} {flows integer buffer integer seed integer target double min_th double max_th double
                    rate_mbps double access_mbps double duration double link_delay_ms double
                    rtt_min_ms double rtt_max_ms double} {
    if {![string is $kind -strict $param($key)] || $param($key) <= 0} {
        refuse "$key must be a positive [string map {double number} $kind], got '$param($key)'"
    }
}
if {$param(queue) ni {PI DropTail RED ARED REM}} { refuse "unknown queue '$param(queue)'" }
if {$param(topology) ni {pairs shared}} { refuse "unknown topology '$param(topology)'" }
if {$param(rtt_min_ms) > $param(rtt_max_ms)} { refuse "rtt_min_ms exceeds rtt_max_ms" }
if {$param(rtt_min_ms) < 2 * $param(link_delay_ms)} { refuse "the shortest RTPT is below 2 * link_delay_ms" }
if {$param(topology) eq "shared" && $param(rtt_min_ms) != $param(rtt_max_ms)} {
    refuse "topology=shared has one RTPT for all flows"
}
if {$param(duration) < 0.02} { refuse "duration must be at least 0.02 s, or nothing is sampled" }

# ---- defaults of the classes used ----------------------------------------------------------------

ns-random $param(seed)

Queue set limit_ 100000                 ;# only the bottleneck may drop; its own limit is set below

Agent/TCP set window_     10000
Agent/TCP set packetSize_ 1000          ;# payload: 1040 bytes on the wire

switch $param(queue) {
    DropTail {
        set discipline DropTail
    }
    PI {
        set discipline PI
        Queue/PI set a_    1.822e-5
        Queue/PI set b_    1.816e-5
        Queue/PI set w_    170
        Queue/PI set qref_ $param(target)
    }
    REM {
        set discipline REM
        Queue/REM set pbo_ $param(target)
    }
    RED - ARED {
        set discipline RED
        Queue/RED set thresh_         $param(min_th)
        Queue/RED set maxthresh_      $param(max_th)
        Queue/RED set q_weight_       .002
        Queue/RED set linterm_        10
        Queue/RED set gentle_         true
        Queue/RED set wait_           true
        Queue/RED set bytes_          false
        Queue/RED set queue_in_bytes_ false
        Queue/RED set mean_pktsize_   1000
        Queue/RED set adaptive_       [expr {$param(queue) eq "ARED"}]
    }
}

# ---- network -------------------------------------------------------------------------------------

set ns [new Simulator]
set r1 [$ns node]
set r2 [$ns node]
$ns simplex-link $r1 $r2 $param(rate_mbps)Mb $param(link_delay_ms)ms $discipline
$ns simplex-link $r2 $r1 $param(rate_mbps)Mb $param(link_delay_ms)ms DropTail
$ns queue-limit  $r1 $r2 $param(buffer)
set bottleneck [$ns monitor-queue $r1 $r2 ""]

# A new source and a new sink node at the two ends; their four access hops share what the link leaves of the RTPT.
proc new_ends {rtt_ms} {
    global ns param r1 r2
    set delay [expr {($rtt_ms - 2.0 * $param(link_delay_ms)) / 4}]ms
    set source [$ns node]
    set sink   [$ns node]
    $ns duplex-link $source $r1 $param(access_mbps)Mb $delay DropTail
    $ns duplex-link $r2 $sink   $param(access_mbps)Mb $delay DropTail
    return [list $source $sink]
}

proc new_flow {source sink} {
    global ns
    set tcp [$ns create-connection TCP/Reno $source TCPSink $sink 0]
    $ns at 0.0 "[$tcp attach-app FTP] start"
}

# ---- measurement ---------------------------------------------------------------------------------

set samples 0
set sum     0.0
set squares 0.0

# Waiting packets, every 10 ms from 10 ms on.
proc sample {} {
    global ns bottleneck samples sum squares
    set waiting [$bottleneck set pkts_]
    set sum     [expr {$sum + $waiting}]
    set squares [expr {$squares + double($waiting) * $waiting}]
    incr samples
    $ns at [expr {($samples + 1) * 0.01}] sample
}

# The first event. Routes are computed inside `$ns run`, before it, so they count as set-up.
proc begin {} {
    set ::first_event [clock milliseconds]
}

proc finish {} {
    global param bottleneck samples sum squares birth first_event
    set now      [clock milliseconds]
    set arrived  [expr {int([$bottleneck set parrivals_])}]
    set departed [expr {int([$bottleneck set pdepartures_])}]
    set dropped  [expr {int([$bottleneck set pdrops_])}]
    set ratio    [expr {$arrived > 0 ? double($dropped) / $arrived : 0.0}]
    set mean     [expr {$sum / $samples}]
    set variance [expr {$squares / $samples - $mean * $mean}]
    set std      [expr {$variance > 0 ? sqrt($variance) : 0.0}]

    set line [format {"queue": "%s", "topology": "%s", "flows": %d, "seed": %d} \
        $param(queue) $param(topology) $param(flows) $param(seed)]
    append line [format {, "arrived": %d, "departed": %d, "dropped": %d, "drop_ratio": %.6f} \
        $arrived $departed $dropped $ratio]
    append line [format {, "queue_mean": %.3f, "queue_std": %.3f} $mean $std]
    append line [format {, "setup_wall": %.3f, "wall": %.3f} \
        [expr {($first_event - $birth) / 1000.0}] [expr {($now - $first_event) / 1000.0}]]
    puts "{$line}"
    exit 0
}

# ---- run -----------------------------------------------------------------------------------------

$ns at 0.0 begin
$ns at 0.01 sample

if {$param(topology) eq "shared"} {
    set ends [new_ends $param(rtt_min_ms)]
    for {set i 0} {$i < $param(flows)} {incr i} { new_flow {*}$ends }
} else {
    set draw [new RNG]
    $draw seed [expr {$param(seed) + 1000000}]    ;# not the stream of the queue and the agents
    for {set i 0} {$i < $param(flows)} {incr i} {
        set rtt_ms $param(rtt_min_ms)
        if {$param(rtt_max_ms) > $rtt_ms} { set rtt_ms [$draw uniform $rtt_ms $param(rtt_max_ms)] }
        new_flow {*}[new_ends $rtt_ms]
    }
}

$ns at $param(duration) finish
$ns run
