//! Events in the Wi-Fi cell: its frames.

use super::NetworkState;
use crate::calendar::{EventOrigin, Lane};
use crate::engine::event::Event;
use crate::net::wifi::Cell;
use aqmlab_core::Time;

impl NetworkState {
    /// A packet waits for a radio.
    #[inline(never)]
    pub(super) fn wait_for_air(&mut self, link: usize) {
        let Some(mut cell) = self.cell.take() else { return };
        let due = cell.due;
        cell.wake(link, &mut self.links, self.now);
        self.follow(&mut cell);
        if cell.due != due {
            self.schedule_frame(&cell);
        }
        self.cell = Some(cell);
    }

    /// A frame of the cell begins or ends, unless another one was to begin before.
    #[inline(never)]
    pub(super) fn frame(&mut self) {
        let Some(mut cell) = self.cell.take_if(|cell| cell.due == self.now) else { return };
        cell.go_on(&mut self.links, self.now);
        self.follow(&mut cell);
        self.schedule_frame(&cell);
        self.cell = Some(cell);
    }

    /// What has become of packets of the cell.
    fn follow(&mut self, cell: &mut Cell) {
        for link in cell.asked.drain(..) {
            self.book_removed(link);
            if let Some(time) = self.links[link].held_until(self.now) {
                let link = link as u32;
                self.scheduler.push(Lane::ANY, time, EventOrigin::link(link), Event::Release { link });
            }
        }
        for packet in cell.received.drain(..) {
            let hop = self.hop(&packet);
            if self.links[hop.link].is_impaired() {
                self.forward_over_wire(packet, self.now);
            } else {
                self.forward(&packet, hop, self.now);
            }
        }
        for (link, packet) in cell.lost.drain(..) {
            self.links[link].give_up();
            self.lose_on_wire(link, &packet, self.now);
        }
    }

    fn schedule_frame(&mut self, cell: &Cell) {
        if cell.due != Time::NEVER {
            let place = EventOrigin::transmitter(cell.first() as u32);
            self.scheduler.push(Lane::ANY, cell.due, place, Event::Frame);
        }
    }
}
