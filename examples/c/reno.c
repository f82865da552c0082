// Reno as a law in C, for `aqmlab run SCENARIO --cc ./libreno.so`. The sender halves the window itself, as for Reno.
// Build: cc -shared -fPIC reno.c $(pkg-config --cflags aqmlab) -o libreno.so

#include <aqmlab.h>
#include <math.h>

// Slow start adds a segment for each that is acknowledged; congestion avoidance one for each whole window (RFC 3465, section 2.1).
static void on_ack(void *state, AqmlabWindow *window, const AqmlabFacts *facts) {
  (void)state;
  double credit = facts->byte_counting ? facts->acked : 1;
  if (window->cwnd < window->ssthresh) window->cwnd += credit;
  else window->cwnd += credit / (facts->byte_counting ? floor(window->cwnd + 1e-9) : window->cwnd);
}

const AqmlabLaw *aqmlab_law(void);

const AqmlabLaw *aqmlab_law(void) {
  static const AqmlabLaw law = {
      .version = AQMLAB_LAW_VERSION,
      .size = sizeof(AqmlabLaw),
      .name = "c-reno",
      .title = "Reno in C",
      .source = "RFC 5681, section 3.1",
      .on_ack = on_ack,
  };
  return &law;
}
