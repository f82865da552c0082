// A toy transport over a path in virtual time: a window of packets, each acknowledged; the window is halved for a mark once a round trip.
// Build: cc transfer.c $(pkg-config --cflags --libs aqmlab) -o transfer

#include <aqmlab.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *SCENARIO =
    "schema = 1\nduration = '60 s'\n"
    "[[links]]\nname = 'up'\nrate = '10 Mbit/s'\nbuffer = '200 packets'\n"
    "[[links]]\nname = 'down'\nrate = '50 Mbit/s'\nbuffer = '200 packets'\n"
    "[[flows]]\nrtt = '40 ms'\n";

enum { PACKETS = 2000, ROUND = 50000000 };

static void must(AqmlabStatus status) {
  if (status != AQMLAB_STATUS_OK) {
    fprintf(stderr, "%s\n", aqmlab_error());
    exit(1);
  }
}

static void transfer(const char *aqm, uint8_t ecn) {
  AqmlabPath *path;
  must(aqmlab_path_new(SCENARIO, aqm, 1, &path));
  AqmlabPacket segment = {.length = 1200, .flow = 1, .host = 1, .ecn = ecn, .dscp = 0};
  AqmlabPacket ack = {.length = 60, .flow = 1, .host = 1, .ecn = AQMLAB_NOT_ECT, .dscp = 0};
  uint64_t now = 0, halved = 0, sent = 0, acked = 0, marks = 0, longest = 0;
  double window = 10;
  while (acked < PACKETS) {
    for (; sent < PACKETS && (double)(sent - acked) < window; sent++)
      must(aqmlab_line_push(aqmlab_path_up(path), now, &segment, sent, NULL));
    must(aqmlab_path_next_event(path, &now));
    AqmlabSide side;
    AqmlabDelivery out;
    if (aqmlab_path_pop(path, now, &side, &out) != AQMLAB_STATUS_OK) continue;
    if (side == AQMLAB_SIDE_UP) { // the receiver answers with the mark that it has met
      longest = out.waited > longest ? out.waited : longest;
      must(aqmlab_line_push(aqmlab_path_down(path), now, &ack, out.ecn == AQMLAB_CE, NULL));
      continue;
    }
    acked++;
    marks += out.payload;
    if (out.payload && now >= halved + ROUND) window = window > 4 ? window / 2 : 2, halved = now;
    else window += 1 / window;
  }
  printf("%s: %" PRIu64 " packets in %.2f s, %" PRIu64 " marked, at most %.1f ms in the queue\n", aqm, acked, (double)now / 1e9,
         marks, (double)longest / 1e6);
  aqmlab_path_free(path);
}

int main(void) {
  transfer("fq-codel", AQMLAB_ECT0);
  transfer("dualpi2", AQMLAB_ECT1);
}
