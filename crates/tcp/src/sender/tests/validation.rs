//! new-CWV (RFC 7661), under Reno's law. The round trip takes 100 ms, so the sampling period is its least, 1 s.

#![allow(clippy::single_range_in_vec_init)] // a list of blocks

use super::*;

/// Offers chunks and has them acknowledged one by one, a round trip each.
struct Application {
    bench: Bench,
    acked: u32,
}

impl Application {
    /// Rounds of 4, 8 and 16 segments in slow start leave a window of 18 at 400 ms, in variant `rack` of 32.
    fn new(variant: TcpVariant, profile: Profile) -> Self {
        let keys = [("after_idle", "new-cwv"), ("initial_window", "4 packets"), ("clock", "1 ms"), ("syn", "true")];
        let mut app = Self { bench: bench(variant, profile, &keys), acked: 0 };
        app.offer(28, 0);
        app.ack_until(1, 100);
        for (at, until) in [(200, 5), (300, 13), (400, 29)] {
            app.ack_until(until, at);
        }
        app
    }

    fn offer(&mut self, segments: u32, pause: u64) {
        let Bench { sender, params, wire, now } = &mut self.bench;
        sender.offer(segments, Span::from_millis(pause), *now, params, wire);
    }

    fn ack_until(&mut self, end: u32, at: u64) {
        self.bench.now = ms(at);
        while self.acked < end {
            self.bench.ack(self.acked);
            self.acked += 1;
        }
    }

    /// Four segments in each round trip after `from` until `to`, which are times in ms.
    fn trickle(&mut self, from: u64, to: u64) {
        for at in (from..to).step_by(100) {
            self.offer(4, 0);
            self.ack_until(self.acked + 4, at + 100);
        }
        self.bench.sent();
    }

    fn cwnd(&self) -> f64 {
        self.bench.sender.cwnd()
    }
}

#[test]
fn a_window_of_which_less_than_half_is_used_neither_grows_nor_shrinks() {
    let senders = [(TcpVariant::NewReno, Profile::Rfc, 18.0), (TcpVariant::Rack, Profile::Linux, 32.0)];
    for (variant, profile, grown) in senders {
        let mut app = Application::new(variant, profile);
        // Of 16, used up at the first ACK of the last round, pipeACK is 8; of 17 that is less than half. After the last ACK it is
        // 16. For Linux what is used up at all in a round trip is so for the whole of it.
        assert_eq!(app.cwnd(), grown);
        app.trickle(400, 800);
        assert_eq!(app.cwnd(), 33.0, "slow start for as long as 16 is half of it");
        app.trickle(800, 3000);
        assert_eq!(app.cwnd(), 33.0);
        // Chunks of 17 are half of it: the last ACK of the first validates it again, as does the first ACK of the second.
        for (at, cwnd) in [(3100, 34.0), (3200, 35.0), (3300, 35.0)] {
            app.offer(17, 0);
            app.ack_until(app.acked + 17, at);
            assert_eq!(app.cwnd(), cwnd);
        }
    }
}

#[test]
fn a_pause_leaves_it_for_five_minutes_then_halves_it() {
    let after = |pause| {
        let mut app = Application::new(TcpVariant::NewReno, Profile::Rfc);
        app.bench.sender.tcb.cc.window.ssthresh = 12.0;
        app.bench.now = ms(400 + pause);
        app.offer(100, pause);
        let sent = app.bench.sent().len();
        (sent, app.cwnd(), app.bench.sender.tcb.cc.window.ssthresh)
    };
    assert_eq!(after(300_000), (18, 18.0, 12.0));
    assert_eq!(after(300_001), (9, 9.0, 13.5), "three quarters of 18");
    assert_eq!(after(600_001), (4, 4.5, 13.5));
    assert_eq!(after(3_600_000), (4, 4.0, 13.5), "not below the initial window");
}

#[test]
fn a_loss_leaves_half_of_what_was_used_less_what_is_sent_again() {
    let mut app = Application::new(TcpVariant::NewReno, Profile::Rfc);
    app.trickle(400, 2000);
    app.offer(8, 0);
    app.bench.sent();
    // Eight outstanding, pipeACK 4, of a window of 33.
    assert_eq!(app.bench.duplicates(3), [vec![], vec![], vec![app.acked]]);
    let values = |app: &Application| (app.cwnd(), app.bench.sender.tcb.cc.window.ssthresh);
    assert_eq!(values(&app), (4.0, 4.0), "max(4, 8)/2");
    app.bench.ack(app.acked + 7);
    app.acked += 8;
    assert_eq!(values(&app), (2.0, 3.5), "(8 - 1)/2; NewReno releases no burst");
    // pipeACK is undefined, so the window grows with a single segment in use.
    app.offer(1, 0);
    app.ack_until(app.acked + 1, 2200);
    assert_eq!(app.cwnd(), 3.0);
}

#[test]
fn a_loss_of_a_validated_window_is_answered_by_the_law() {
    let mut app = Application::new(TcpVariant::NewReno, Profile::Rfc);
    app.offer(30, 0);
    app.bench.sent();
    app.bench.duplicates(3);
    assert_eq!(app.bench.sender.tcb.cc.window.ssthresh, 9.0, "half of the 18 outstanding");
}

#[test]
fn a_mark_and_a_timeout_leave_half_of_what_was_used() {
    let mut app = Application::new(TcpVariant::NewReno, Profile::Rfc);
    app.bench.sender.tcb.ecn = true;
    app.trickle(400, 2000);
    app.offer(6, 0);
    app.bench.now = ms(2100);
    app.bench.on(Ack { next: app.acked + 1, ece: true, ..Ack::default() });
    assert_eq!(app.cwnd(), 3.0, "max(4, 6)/2");
    let mut app = Application::new(TcpVariant::Rack, Profile::Linux);
    app.trickle(400, 2000);
    app.offer(6, 0);
    while app.bench.sender.timeouts() == 0 {
        app.bench.timeout(); // a probe comes first
    }
    assert_eq!((app.cwnd(), app.bench.sender.tcb.cc.window.ssthresh), (1.0, 3.0));
}

#[test]
fn under_prr_the_flight_is_what_is_reduced() {
    let mut app = Application::new(TcpVariant::Rack, Profile::Linux);
    app.trickle(400, 2000);
    app.offer(8, 0);
    app.bench.sent();
    let hole = app.acked;
    let sack = |app: &mut Application, at, end| {
        app.bench.now = ms(at);
        app.bench.sack(hole, &[hole + 1..end])
    };
    assert_eq!([sack(&mut app, 2100, hole + 2), sack(&mut app, 2101, hole + 3)], [vec![], vec![]]);
    assert_eq!(sack(&mut app, 2102, hole + 4), [hole]);
    assert_eq!(app.bench.sender.tcb.cc.window.ssthresh, 4.0, "max(4, 8)/2");
    assert_eq!(sack(&mut app, 2103, hole + 8), []);
    app.bench.now = ms(2200);
    app.bench.on(Ack { next: hole + 8, is_resent: true, ..Ack::default() });
    // (8 - 1)/2, and the ACK that ends the recovery opens the window by 1/3.
    assert_eq!(app.bench.sender.tcb.cc.window.ssthresh, 3.5);
    assert!((app.cwnd() - (3.5 + 1.0 / 3.0)).abs() < 1e-6, "{}", app.cwnd());
}
