// Checks for the test programs: the first that fails says where and why, and ends the program.
#ifndef CHECK_H
#define CHECK_H

#include "aqmlab.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t MS = 1000000;

#define CHECK(condition, ...)                                        \
  do {                                                               \
    if (!(condition)) {                                              \
      fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
      fprintf(stderr, __VA_ARGS__);                                  \
      fprintf(stderr, "\n%s\n", aqmlab_error());                     \
      exit(1);                                                       \
    }                                                                \
  } while (0)

// 8 Mbit/s, so that 1000 bytes take a millisecond.
static inline AqmlabLine *line_of(const char *aqm, const char *more) {
  char text[400];
  snprintf(text, sizeof text, "rate = '8 Mbit/s'\naqm = '%s'\n%s", aqm, more);
  AqmlabLine *line = NULL;
  CHECK(aqmlab_line_new(text, 1, &line) == AQMLAB_STATUS_OK, "%s", text);
  return line;
}

static inline AqmlabPacket packet_of(uint32_t length, uint32_t flow, uint8_t ecn) {
  AqmlabPacket packet = {length, flow, flow, ecn, 0};
  return packet;
}

#endif
