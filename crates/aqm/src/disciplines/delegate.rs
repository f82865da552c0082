//! The calls that a discipline made of others hands on.

/// Hands a call on: `dispatch!(self, queue => act)` does `act` to the discipline within.
macro_rules! delegate {
    ($dispatch:ident) => {
        fn state(&self) -> &QueueState<P> {
            $dispatch!(self, queue => queue.state())
        }
        fn state_mut(&mut self) -> &mut QueueState<P> {
            $dispatch!(self, queue => queue.state_mut())
        }
        fn assign(&mut self, flow: u32, class: usize) {
            $dispatch!(self, queue => queue.assign(flow, class))
        }
        fn fattest(&self) -> u64 {
            $dispatch!(self, queue => queue.fattest())
        }
        fn for_each(&self, act: &mut dyn FnMut(&P)) {
            $dispatch!(self, queue => queue.for_each(act))
        }
        fn departures_known(&self) -> bool {
            $dispatch!(self, queue => queue.departures_known())
        }
        fn tick_every(&self) -> Option<Span> {
            $dispatch!(self, queue => queue.tick_every())
        }
        fn tick(&mut self, cx: &mut Ctx) {
            $dispatch!(self, queue => queue.tick(cx))
        }
        fn set_rate(&mut self, rate: Rate) {
            $dispatch!(self, queue => queue.set_rate(rate))
        }
        fn set_target(&mut self, target: f64) {
            $dispatch!(self, queue => queue.set_target(target))
        }
        fn set_limit(&mut self, limit: Limit, packets: f64) {
            $dispatch!(self, queue => queue.set_limit(limit, packets))
        }
        fn set_param(&mut self, name: &str, value: ParamInput) -> Result<(), String> {
            $dispatch!(self, queue => queue.set_param(name, value))
        }
        fn take_all(&mut self, now: Time) -> Vec<(P, Time)> {
            $dispatch!(self, queue => queue.take_all(now))
        }
        fn adopt(&mut self, packet: P, since: Time) {
            $dispatch!(self, queue => queue.adopt(packet, since))
        }
        fn observe(&self, i: usize) -> f64 {
            $dispatch!(self, queue => queue.observe(i))
        }
        fn failure(&self) -> Option<&Failure> {
            $dispatch!(self, queue => queue.failure())
        }
        fn accounts(&self) -> Accounts {
            $dispatch!(self, queue => queue.accounts())
        }
        fn add_accounts(&mut self, earlier: &Accounts) {
            $dispatch!(self, queue => queue.add_accounts(earlier))
        }
        fn restart_accounts(&mut self) {
            $dispatch!(self, queue => queue.restart_accounts())
        }
        fn accounts_balance(&self) -> bool {
            $dispatch!(self, queue => queue.accounts_balance())
        }
        fn keep_notes(&mut self, marks: bool) {
            $dispatch!(self, queue => queue.keep_notes(marks))
        }
    };
}
pub(super) use delegate;
