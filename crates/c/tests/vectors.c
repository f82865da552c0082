// Values worked out by hand for CoDel, PIE and DualPI2, and every way to misuse the library.

#include "check.h"

static void push(AqmlabLine *line, uint64_t now, uint8_t ecn, uint64_t payload) {
  AqmlabPacket packet = packet_of(1000, 1, ecn);
  CHECK(aqmlab_line_push(line, now, &packet, payload, NULL) == AQMLAB_STATUS_OK, "packet %d", (int)payload);
}

static double observed(AqmlabLine *line, uint64_t now, const char *name) {
  double value = NAN;
  CHECK(aqmlab_line_advance(line, now) == AQMLAB_STATUS_OK, "%s", name);
  CHECK(aqmlab_line_observe(line, name, &value) == AQMLAB_STATUS_OK, "%s", name);
  return value;
}

static void close_to(double value, double expected, const char *what) {
  CHECK(fabs(value - expected) < 1e-9, "%s: %.12g instead of %.12g", what, value, expected);
}

// 600 packets at once: the one that enters service at n ms has waited n ms. CoDel is above its target from 5 ms on, drops at 105 ms
// and then 100 ms/sqrt(n) after the last time foreseen (RFC 8289, section 5.5): 205, 275.71, 333.45, 383.45, 428.17 ms. A packet can go
// at whole milliseconds.
static void codel(uint8_t ecn) {
  static const uint64_t expected[] = {105, 205, 276, 334, 384, 429};
  AqmlabLine *line = line_of("codel", "buffer = '1000 packets'\necn = true");
  for (uint64_t n = 0; n < 600; n++) push(line, 0, ecn, n);
  size_t signals = 0;
  uint64_t due;
  while (signals < 6 && aqmlab_line_next_event(line, &due) == AQMLAB_STATUS_OK) {
    AqmlabDelivery out;
    AqmlabStatus status = aqmlab_line_pop(line, due, &out);
    CHECK(status == AQMLAB_STATUS_OK || status == AQMLAB_STATUS_NOTHING, "%d", status);
    if (status == AQMLAB_STATUS_OK && out.ecn == AQMLAB_CE) {
      CHECK(out.waited == expected[signals] * MS, "mark %zu after %.3f ms", signals, (double)out.waited / 1e6);
      signals++;
    }
    AqmlabDropped gone;
    while (aqmlab_line_pop_dropped(line, &gone) == AQMLAB_STATUS_OK) {
      CHECK(ecn == AQMLAB_NOT_ECT && gone.reason == AQMLAB_REASON_SCHEME, "%d %s", gone.reason, gone.why);
      CHECK(strcmp(gone.why, "forced") == 0, "%s", gone.why);
      CHECK(gone.at == expected[signals] * MS, "drop %zu at %.3f ms", signals, (double)gone.at / 1e6);
      signals++;
    }
  }
  CHECK(signals == 6, "%zu signals", signals);
  aqmlab_line_free(line);
}

// RFC 8033, section 4.2. Updates come each 15 ms; the packet that left last had waited as long as the clock says.
static void pie(void) {
  AqmlabLine *line = line_of("pie", "buffer = '1000 packets'");
  for (uint64_t n = 0; n < 400; n++) push(line, 0, AQMLAB_NOT_ECT, n);
  double p = 0, before = 0;
  for (int update = 1; update <= 20; update++) {
    double delay = 0.015 * update;
    double step = 0.125 * (delay - 0.015) + 1.25 * (delay - before);
    step *= p < 1e-6 ? 1.0 / 2048 : p < 1e-5 ? 1.0 / 512 : p < 1e-4 ? 1.0 / 128
          : p < 1e-3 ? 1.0 / 32 : p < 0.01 ? 1.0 / 8 : p < 0.1 ? 1.0 / 2 : 1;
    if (p >= 0.1 && step > 0.02) step = 0.02;
    p += step;
    before = delay;
    close_to(observed(line, (uint64_t)(15 * update) * MS + MS / 2, "p"), p, "p");
  }
  aqmlab_line_free(line);
}

// RFC 9332, appendix A: p' follows the delay each 16 ms with 0.16 Hz and 3.2 Hz.
static void dualpi2(void) {
  AqmlabLine *line = line_of("dualpi2", "buffer = '1000 packets'");
  for (uint64_t n = 0; n < 300; n++) push(line, 0, AQMLAB_ECT0, n);
  uint64_t due;
  AqmlabDelivery out;
  int last_marked = -1;
  while (aqmlab_line_next_event(line, &due) == AQMLAB_STATUS_OK && due <= 100 * MS) {
    if (aqmlab_line_pop(line, due, &out) == AQMLAB_STATUS_OK && out.ecn == AQMLAB_CE) last_marked = (int)out.payload;
  }
  CHECK(last_marked > 0, "no classic packet is marked");
  aqmlab_line_free(line);
  // The low-latency queue's ramp begins at 0.8 ms and marks everything from 1.2 ms on.
  line = line_of("dualpi2", "buffer = '1000 packets'");
  for (uint64_t n = 0; n < 12; n++) push(line, 0, AQMLAB_ECT1, n);
  for (uint64_t n = 0; n < 12; n++) {
    CHECK(aqmlab_line_next_event(line, &due) == AQMLAB_STATUS_OK, "packet %d", (int)n);
    CHECK(aqmlab_line_pop(line, due, &out) == AQMLAB_STATUS_OK && out.payload == n, "packet %d", (int)n);
    bool is_spared = n < 2 || n >= 10; // they waited for less; the last two have none or one behind them
    if (is_spared) CHECK(out.ecn == AQMLAB_ECT1, "packet %d", (int)n);
    if (!is_spared) CHECK(out.ecn == AQMLAB_CE, "packet %d waited %.3f ms", (int)n, (double)out.waited / 1e6);
  }
  aqmlab_line_free(line);
}

static void refuses(AqmlabStatus status, AqmlabStatus expected, const char *why) {
  CHECK(status == expected, "%d instead of %d", status, expected);
  CHECK(strstr(aqmlab_error(), why) != NULL, "the error does not say \"%s\"", why);
}

static void misuse(void) {
  AqmlabLine *line = NULL;
  refuses(aqmlab_line_new("rate = '8 Mbit/s'\nbuffer = '9 packets'\naqm = 'codle'", 1, &line), AQMLAB_STATUS_INPUT,
          "did you mean \"codel\"");
  refuses(aqmlab_line_new("rate = '8 Mbit/s'\nbuffer = '9 packets'\naqm = 'codel:tagret=3ms'", 1, &line), AQMLAB_STATUS_INPUT,
          "codel.tagret: unknown");
  refuses(aqmlab_line_new("rate = ", 1, &line), AQMLAB_STATUS_INPUT, "line");
  refuses(aqmlab_line_new("rate = '\xff'", 1, &line), AQMLAB_STATUS_INPUT, "UTF-8");
  refuses(aqmlab_line_new(NULL, 1, &line), AQMLAB_STATUS_NULL, "description: null");
  CHECK(line == NULL, "a line was made");
  line = line_of("codel", "buffer = '9 packets'");
  refuses(aqmlab_line_new("", 1, NULL), AQMLAB_STATUS_NULL, "line: null");
  AqmlabPacket packet = packet_of(0, 1, 0);
  refuses(aqmlab_line_push(line, 5, &packet, 0, NULL), AQMLAB_STATUS_LENGTH, "length: 0 bytes");
  packet = packet_of(1000, 1, 4);
  refuses(aqmlab_line_push(line, 5, &packet, 0, NULL), AQMLAB_STATUS_INPUT, "ecn: 4");
  packet = packet_of(1000, 1, 0);
  packet.dscp = 64;
  refuses(aqmlab_line_push(line, 5, &packet, 0, NULL), AQMLAB_STATUS_DSCP, "dscp: 64");
  refuses(aqmlab_line_push(NULL, 5, &packet, 0, NULL), AQMLAB_STATUS_NULL, "line: null");
  refuses(aqmlab_line_push(line, 5, NULL, 0, NULL), AQMLAB_STATUS_NULL, "packet: null");
  push(line, 7, AQMLAB_NOT_ECT, 1);
  packet.dscp = 0;
  refuses(aqmlab_line_push(line, 6, &packet, 0, NULL), AQMLAB_STATUS_BACKWARDS, "6 ns is before 7 ns");
  refuses(aqmlab_line_advance(line, UINT64_MAX), AQMLAB_STATUS_LATE, "out of range");
  AqmlabDelivery out;
  refuses(aqmlab_line_pop(line, 8, &out), AQMLAB_STATUS_NOT_DUE, "the next event is at 1000007 ns");
  double value;
  refuses(aqmlab_line_observe(line, "cuont", &value), AQMLAB_STATUS_INPUT, "count");
  AqmlabLine *copy = NULL;
  CHECK(aqmlab_line_clone(line, &copy) == AQMLAB_STATUS_OK && copy != NULL, "no copy");
  aqmlab_line_free(line);
  CHECK(aqmlab_line_pop(copy, MS + 7, &out) == AQMLAB_STATUS_OK && out.payload == 1, "the copy has the packet");
  uint64_t due;
  CHECK(aqmlab_line_next_event(copy, &due) == AQMLAB_STATUS_NOTHING, "it is empty");
  aqmlab_line_free(copy);
  aqmlab_line_free(NULL);
  aqmlab_path_free(NULL);
  CHECK(aqmlab_path_up(NULL) == NULL, "null has no line");
  AqmlabPath *path = NULL;
  refuses(aqmlab_path_new("schema = 1", NULL, 1, &path), AQMLAB_STATUS_INPUT, "links");
}

int main(void) {
  CHECK(aqmlab_abi_version() == AQMLAB_ABI_VERSION, "header and library differ");
  codel(AQMLAB_NOT_ECT);
  codel(AQMLAB_ECT0);
  pie();
  dualpi2();
  misuse();
  printf("every vector passes\n");
}
