// The contract of schemes, through the library. Each argument is a scheme: its name, whether a light load may be signalled ("light") or
// not ("spared"), and its observables, those that are probabilities with a "*".

#include "check.h"

enum { FLOWS = 3, STEPS = 1000, COURSES = 2, SHOWN = 16 };

static uint64_t random_state;

static uint32_t below(uint32_t n) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % n;
}

typedef struct {
  const char *name;
  char observables[SHOWN][32];
  int shown;
  bool is_spared;
} Scheme;

typedef struct {
  const Scheme *scheme;
  AqmlabLine *line;
  uint64_t now, delivered, dropped, digest, last[FLOWS];
} Course;

static Course course_of(const Scheme *scheme) {
  Course course = {.scheme = scheme, .line = line_of(scheme->name, "buffer = '100 packets'\ntarget = '50 packets'\necn = true")};
  return course;
}

static void digest(Course *course, uint64_t value) { course->digest = (course->digest ^ value) * 1099511628211u; }

// Payloads: the number of the packet, its flow and whether it can be marked.
static uint64_t payload_of(uint64_t number, uint32_t flow, bool is_capable) { return number << 8 | flow << 1 | is_capable; }

static void offer(Course *course, uint64_t number, uint32_t length) {
  bool is_capable = number % 2 == 0;
  uint32_t flow = (uint32_t)(number % FLOWS);
  AqmlabPacket packet = packet_of(length, flow, is_capable ? AQMLAB_ECT0 : AQMLAB_NOT_ECT);
  AqmlabStatus status = aqmlab_line_push(course->line, course->now, &packet, payload_of(number, flow, is_capable), NULL);
  CHECK(status == AQMLAB_STATUS_OK, "%s", course->scheme->name);
}

static void deliver(Course *course, const AqmlabDelivery *out) {
  uint64_t number = out->payload >> 8, flow = out->payload >> 1 & 127;
  CHECK(number > course->last[flow], "%s: packets of a flow come out of order", course->scheme->name);
  CHECK((out->payload & 1) || out->ecn == AQMLAB_NOT_ECT, "%s: a packet that cannot be marked is", course->scheme->name);
  course->last[flow] = number;
  course->delivered++;
  digest(course, out->payload ^ out->at << 20 ^ out->ecn);
}

// All that comes out until `until`, and what is dropped meanwhile.
static void pass(Course *course, uint64_t until) {
  uint64_t due;
  while (aqmlab_line_next_event(course->line, &due) == AQMLAB_STATUS_OK && due <= until) {
    AqmlabDelivery out;
    AqmlabStatus status = aqmlab_line_pop(course->line, due, &out);
    if (status == AQMLAB_STATUS_OK) deliver(course, &out);
    else CHECK(status == AQMLAB_STATUS_NOTHING, "%s", course->scheme->name);
  }
  CHECK(aqmlab_line_advance(course->line, until) == AQMLAB_STATUS_OK, "%s", course->scheme->name);
  course->now = until;
}

static void verify(Course *course) {
  AqmlabDropped gone;
  while (aqmlab_line_pop_dropped(course->line, &gone) == AQMLAB_STATUS_OK) {
    course->dropped++;
    digest(course, gone.payload ^ gone.at << 20 ^ (uint64_t)gone.reason);
  }
  AqmlabCounters counts;
  CHECK(aqmlab_line_counters(course->line, &counts) == AQMLAB_STATUS_OK, "%s", course->scheme->name);
  CHECK(counts.delivered == course->delivered && counts.full + counts.scheme + counts.evicted == course->dropped
            && counts.pushed == counts.delivered + course->dropped + counts.held, "%s: accounts", course->scheme->name);
  for (int i = 0; i < course->scheme->shown; i++) {
    const char *shown = course->scheme->observables[i];
    double value;
    CHECK(aqmlab_line_observe(course->line, shown + (*shown == '*'), &value) == AQMLAB_STATUS_OK, "%s", course->scheme->name);
    CHECK(isfinite(value) && (*shown != '*' || (value >= 0 && value <= 1)), "%s: %s = %g", course->scheme->name, shown, value);
  }
}

static void step(Course *course, uint64_t number) {
  uint32_t kind = below(10);
  if (kind < 7) offer(course, number, 40 + below(1460));
  else pass(course, course->now + below(kind == 7 ? 20000000 : 2000000));
  verify(course);
}

// A random course; a copy made half way ends as the original does.
static uint64_t random_course(const Scheme *scheme, uint64_t seed) {
  Course course = course_of(scheme), copy = course;
  random_state = seed;
  for (uint64_t number = 1; number <= STEPS; number++) {
    if (number == STEPS / 2) {
      copy = course;
      CHECK(aqmlab_line_clone(course.line, &copy.line) == AQMLAB_STATUS_OK, "%s", scheme->name);
      uint64_t state = random_state;
      for (uint64_t own = number; own <= STEPS; own++) step(&copy, own);
      random_state = state;
    }
    step(&course, number);
  }
  CHECK(course.digest == copy.digest, "%s: a copy ends differently", scheme->name);
  aqmlab_line_free(course.line);
  aqmlab_line_free(copy.line);
  return course.digest;
}

// Bursts around an hour of silence.
static void silence(const Scheme *scheme) {
  Course course = course_of(scheme);
  for (uint64_t round = 0; round < 3; round++) {
    for (uint64_t n = 0; n < 150; n++) offer(&course, 1 + n + 150 * round, 1000);
    pass(&course, course.now + 3600000 * MS);
    verify(&course);
  }
  aqmlab_line_free(course.line);
}

// Half the link's rate, in bursts of seven.
static void light(const Scheme *scheme) {
  Course course = course_of(scheme);
  for (uint64_t n = 1; n <= 350; n++) {
    offer(&course, n, 1000);
    if (n % 7 == 0) pass(&course, course.now + 14 * MS);
  }
  verify(&course);
  AqmlabCounters counts;
  CHECK(aqmlab_line_counters(course.line, &counts) == AQMLAB_STATUS_OK, "%s", scheme->name);
  CHECK(course.dropped + counts.marked == 0, "%s: %d of 350 signalled", scheme->name, (int)(course.dropped + counts.marked));
  aqmlab_line_free(course.line);
}

static Scheme scheme_of(char *text) {
  Scheme scheme = {.name = strtok(text, " "), .shown = 0};
  scheme.is_spared = strcmp(strtok(NULL, " "), "spared") == 0;
  for (char *shown; (shown = strtok(NULL, " ")); scheme.shown++) {
    CHECK(scheme.shown < SHOWN, "%s shows more than %d", scheme.name, SHOWN);
    snprintf(scheme.observables[scheme.shown], 32, "%s", shown);
  }
  return scheme;
}

int main(int count, char **schemes) {
  for (int i = 1; i < count; i++) {
    Scheme scheme = scheme_of(schemes[i]);
    for (uint64_t seed = 1; seed <= COURSES; seed++) {
      CHECK(random_course(&scheme, seed) == random_course(&scheme, seed), "%s: a course does not repeat", scheme.name);
    }
    silence(&scheme);
    if (scheme.is_spared) light(&scheme);
  }
  printf("%d schemes keep the contract\n", count - 1);
}
