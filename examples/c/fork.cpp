// One line in C++: a run is forked at a point, and both copies go on by themselves.
// Build: c++ -std=c++17 fork.cpp $(pkg-config --cflags --libs aqmlab) -o fork

#include <aqmlab.h>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

static void must(AqmlabStatus status) {
  if (status != AQMLAB_STATUS_OK) throw std::runtime_error(aqmlab_error());
}

struct Free {
  void operator()(AqmlabLine *line) const { aqmlab_line_free(line); }
};
using Line = std::unique_ptr<AqmlabLine, Free>;

static Line line_of(const std::string &aqm) {
  AqmlabLine *made = nullptr;
  must(aqmlab_line_new(("rate = '10 Mbit/s'\nbuffer = '100 packets'\ndelay = '5 ms'\naqm = '" + aqm + "'").c_str(), 1, &made));
  return Line(made);
}

static Line copy_of(const Line &line) {
  AqmlabLine *made = nullptr;
  must(aqmlab_line_clone(line.get(), &made));
  return Line(made);
}

// Packets of 1250 bytes come for two seconds, so many a millisecond; the line sends one in that time.
static AqmlabCounters load(AqmlabLine *line, std::uint64_t from, int each) {
  AqmlabPacket packet{1250, 1, 1, AQMLAB_NOT_ECT, 0};
  for (std::uint64_t ms = 1; ms <= 2000; ms++) {
    std::uint64_t now = from + ms * 1000000, due;
    for (int i = 0; i < each; i++) must(aqmlab_line_push(line, now, &packet, ms, nullptr));
    AqmlabDelivery out;
    while (aqmlab_line_next_event(line, &due) == AQMLAB_STATUS_OK && due <= now) aqmlab_line_pop(line, now, &out);
    AqmlabDropped gone;
    while (aqmlab_line_pop_dropped(line, &gone) == AQMLAB_STATUS_OK) {}
  }
  AqmlabCounters counts;
  must(aqmlab_line_counters(line, &counts));
  return counts;
}

int main() {
  const char *names[][2] = {{"pie", "PIE"}, {"codel", "CoDel"}};
  for (auto &name : names) {
    Line line = line_of(name[0]);
    load(line.get(), 0, 1);
    Line copy = copy_of(line);
    AqmlabCounters calm = load(line.get(), 2000000000, 1), busy = load(copy.get(), 2000000000, 2);
    std::printf("with %s: %d dropped if the load stays, %d if it doubles\n", name[1], int(calm.full + calm.scheme),
                int(busy.full + busy.scheme));
  }
}
