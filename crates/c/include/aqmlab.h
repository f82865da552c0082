// aqmlab: a line with its queue and active queue management (AQM), in virtual time. docs/line.md explains it.
//
// Written by cbindgen from crates/c/src; `make c-header` writes it again.
//
// A function that can fail returns a status; aqmlab_error() then says why. Times are nanoseconds from a start of the caller's.
// Objects may move between threads; one object is for one thread at a time. A pointer is valid until its object is freed.
//
// A shared library with a congestion-control law of its own needs this header alone. It exports
//   const AqmlabLaw *aqmlab_law(void);


#ifndef AQMLAB_H
#define AQMLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Version of the ABI: it changes when a program has to be compiled again.
#define AQMLAB_ABI_VERSION 1

// ECN field of a packet that does not take part (RFC 3168).
#define AQMLAB_NOT_ECT 0

// ECN field of an L4S sender (RFC 9331).
#define AQMLAB_ECT1 1

// ECN field of a classic capable sender.
#define AQMLAB_ECT0 2

// ECN field of a marked packet.
#define AQMLAB_CE 3

// Bytes of the text of a scheme's reason, its zero included.
#define AQMLAB_WHY 32

// Version of the table: a library has to be compiled again when it changes.
#define AQMLAB_LAW_VERSION 1

// The law sees every ACK by `on_feedback`, in recovery too.
#define AQMLAB_NEEDS_EVERY_ACK 1

// The sender asks for `pacing_rate` and keeps to it.
#define AQMLAB_NEEDS_PACING 2

// Facts come with the delivery rate; implies every ACK.
#define AQMLAB_NEEDS_RATE_SAMPLES 4

// The law alone sets the window, by `on_feedback`; with loss recovery `rack` only.
#define AQMLAB_NEEDS_OWN_WINDOW 8

// The receiver counts marked segments (accurate ECN).
#define AQMLAB_NEEDS_MARK_COUNTS 16

// The outcome of a call.
typedef enum AqmlabStatus {
  // It is done.
  AQMLAB_STATUS_OK = 0,
  // It is done, and nothing came out.
  AQMLAB_STATUS_NOTHING = 1,
  // A description, name or value is wrong.
  AQMLAB_STATUS_INPUT = 2,
  // Time goes backwards.
  AQMLAB_STATUS_BACKWARDS = 3,
  // Time is beyond 213 days, what a line can count.
  AQMLAB_STATUS_LATE = 4,
  // Nothing is due yet.
  AQMLAB_STATUS_NOT_DUE = 5,
  // The length of a packet is not 1 to 65535 bytes.
  AQMLAB_STATUS_LENGTH = 6,
  // The DSCP of a packet is not 0 to 63.
  AQMLAB_STATUS_DSCP = 7,
  // A pointer is null that may not be.
  AQMLAB_STATUS_NULL = 8,
  // A fault of aqmlab. The object is of no further use but to be freed.
  AQMLAB_STATUS_PANIC = 9,
} AqmlabStatus;

// The fate of a packet as it entered.
typedef enum AqmlabVerdict {
  // It is in the queue, or already being sent.
  AQMLAB_VERDICT_JOINED = 0,
  // The same, with a mark.
  AQMLAB_VERDICT_MARKED = 1,
  // It was dropped; `aqmlab_line_pop_dropped` has it.
  AQMLAB_VERDICT_DROPPED = 2,
} AqmlabVerdict;

// The reason for which a packet was dropped.
typedef enum AqmlabReason {
  // The queue was full.
  AQMLAB_REASON_FULL = 0,
  // The scheme dropped it.
  AQMLAB_REASON_SCHEME = 1,
  // It had joined, and made room for another.
  AQMLAB_REASON_EVICTED = 2,
  // It was lost on the wire.
  AQMLAB_REASON_LOST = 3,
} AqmlabReason;

// A direction of a path.
typedef enum AqmlabSide {
  // From the client.
  AQMLAB_SIDE_UP = 0,
  // To the client.
  AQMLAB_SIDE_DOWN = 1,
} AqmlabSide;

// A sign of congestion. The window is reduced for one at most once per window of data.
typedef enum AqmlabEvent {
  // Fast retransmit.
  AQMLAB_EVENT_LOSS = 0,
  // The receiver tells of a mark.
  AQMLAB_EVENT_ECHO = 1,
  // The retransmission timer expired.
  AQMLAB_EVENT_TIMEOUT = 2,
} AqmlabEvent;

// One direction: a queue under a scheme, a transmitter and a wire, in the caller's time.
typedef struct AqmlabLine AqmlabLine;

// Two lines in one time.
typedef struct AqmlabPath AqmlabPath;

// A packet as queue and scheme see it.
typedef struct AqmlabPacket {
  // Bytes of IP; a line that says so adds what its link layer does.
  uint32_t length;
  // Its flow, by a number of the caller's. Flow queueing hashes it.
  uint32_t flow;
  // The host that sent it, likewise; for schemes that are fair to hosts.
  uint32_t host;
  // ECN field of the IP header, `AQMLAB_NOT_ECT` to `AQMLAB_CE`.
  uint8_t ecn;
  // Its DSCP, 0 to 63; for schemes with priorities, or with a queue for flows that build none (45).
  uint8_t dscp;
} AqmlabPacket;

// A packet that comes out.
typedef struct AqmlabDelivery {
  // The payload that was pushed.
  uint64_t payload;
  // Time at which it comes out, ns.
  uint64_t at;
  // Time in the queue, ns.
  uint64_t waited;
  // ECN field, perhaps with a mark.
  uint8_t ecn;
} AqmlabDelivery;

// A packet that does not come out.
typedef struct AqmlabDropped {
  // The payload that was pushed.
  uint64_t payload;
  // The time, ns.
  uint64_t at;
  // The reason.
  enum AqmlabReason reason;
  // ECN field at the end.
  uint8_t ecn;
  // The scheme's own word for why, as results of runs have it; "" if another reason than the scheme.
  char why[AQMLAB_WHY];
} AqmlabDropped;

// Counts of a line since its start: `pushed` is the sum of `delivered`, `full`, `scheme`, `evicted`, `lost` and `held`.
typedef struct AqmlabCounters {
  // Packets that have entered.
  uint64_t pushed;
  // Packets taken out at the other end.
  uint64_t delivered;
  // Packets dropped because they found no room.
  uint64_t full;
  // Packets dropped by the scheme, at arrival or later.
  uint64_t scheme;
  // Packets that had joined and were dropped to make room for others.
  uint64_t evicted;
  // Packets lost on the wire.
  uint64_t lost;
  // Packets marked by the queue.
  uint64_t marked;
  // Packets within: waiting, being sent, on the wire, or due and not taken yet.
  uint64_t held;
  // Those of them that wait in the queue.
  uint64_t waiting;
} AqmlabCounters;

// The window and threshold that a law sets, in segments; real numbers.
typedef struct AqmlabWindow {
  // Congestion window, more than 0.
  double cwnd;
  // Slow start threshold.
  double ssthresh;
} AqmlabWindow;

// The facts of an ACK. Counts are in segments, times in ns.
typedef struct AqmlabFacts {
  // Time of its arrival.
  uint64_t now;
  // Smoothed round-trip time; 0 before the first sample.
  uint64_t srtt;
  // A round-trip time that it measures; 0 if none.
  uint64_t rtt;
  // Delivery rate, segments/s; 0 if unknown (`AQMLAB_NEEDS_RATE_SAMPLES`).
  double delivery_rate;
  // Segments that it acknowledges; 0 for a duplicate ACK.
  uint32_t acked;
  // Segments known to be CE-marked since the ACK before; known to laws that see every ACK.
  uint32_t marked;
  // Segments sent again since the ACK before; known to laws that see every ACK.
  uint32_t lost;
  // Segments outstanding before it.
  uint32_t flight;
  // The first segment not acknowledged, after it.
  uint32_t hole;
  // The first segment never sent.
  uint32_t sent;
  // The window grows by what is acknowledged (RFC 3465), not by ACKs.
  bool byte_counting;
  // The application has nothing more to send at present.
  bool is_app_limited;
  // Loss recovery is going on.
  bool in_recovery;
} AqmlabFacts;

// A congestion-control law. A function may be null, except `on_ack`: then the sender does as Reno does.
//
// `state` is what `new_state` gave, or null if that is null. A state may move between threads and is used by one at a time; functions
// that take a constant state only read it. Texts and table live as long as the library.
typedef struct AqmlabLaw {
  // `AQMLAB_LAW_VERSION`.
  uint32_t version;
  // `sizeof(AqmlabLaw)`.
  uint32_t size;
  // Name on the command line: small letters, digits and "-".
  const char *name;
  // Name in print; null for `name`.
  const char *title;
  // Publication; may be null.
  const char *source;
  // Sum of `AQMLAB_NEEDS_*`; 0 for a law as Reno is.
  uint32_t needs;
  // The state of a new sender.
  void *(*new_state)(void);
  // A copy of a state.
  void *(*clone_state)(const void *state);
  // Frees a state.
  void (*free_state)(void *state);
  // A number of this sender's own, from which a law draws what is random; before the first segment.
  void (*on_seed)(void *state, uint64_t seed);
  // The handshake is done, and has measured the first round-trip time.
  void (*on_established)(void *state, const struct AqmlabWindow *window, uint64_t rtt, uint64_t now);
  // An ACK of new data outside fast recovery that tells of no new mark: the window may grow.
  void (*on_ack)(void *state, struct AqmlabWindow *window, const struct AqmlabFacts *facts);
  // Any ACK, if the law needs that.
  void (*on_feedback)(void *state, struct AqmlabWindow *window, const struct AqmlabFacts *facts);
  // The share of the window (RFC 5681: of the data in flight) that an event leaves, 0 to 1.
  double (*kept)(const void *state, enum AqmlabEvent event);
  // The window is about to be reduced to that share.
  void (*on_congestion)(void *state, enum AqmlabEvent event, const struct AqmlabWindow *window);
  // Fast recovery has ended.
  void (*on_recovered)(void *state, struct AqmlabWindow *window);
  // A timeout has brought the window down to one segment.
  void (*on_timeout)(void *state);
  // A supposed loss was none; the sender restores the window.
  void (*on_undo)(void *state);
  // A pause ends in which the application had nothing to send.
  void (*on_resume)(void *state, struct AqmlabWindow *window, uint64_t now);
  // Segments per second at which to send; 0 if there is no rate yet.
  double (*pacing_rate)(const void *state);
} AqmlabLaw;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the ABI that the library has; compare it with `AQMLAB_ABI_VERSION` of the header.
uint32_t aqmlab_abi_version(void);

// The version of aqmlab, as "0.2.0".
const char *aqmlab_version(void);

// The reason for which the last call of this thread failed; "" if none has. Valid until the next that fails.
const char *aqmlab_error(void);

// Makes a line at rest. `description` is TOML with the keys of a link in a scenario.
//
// # Safety
// `description` ends with a zero; `line` points at a pointer.
enum AqmlabStatus aqmlab_line_new(const char *description, uint64_t seed, struct AqmlabLine **line);

// Makes a copy, which goes its own way from here on. Payloads are copied as the numbers that they are.
//
// # Safety
// `line` is a line; `copy` points at a pointer.
enum AqmlabStatus aqmlab_line_clone(const struct AqmlabLine *line, struct AqmlabLine **copy);

// Frees a line that `aqmlab_line_new` or `aqmlab_line_clone` made; null is left alone. So is a line of a path, which goes with the
// path: `aqmlab_error` says so.
//
// # Safety
// `line` is null or a line, not freed yet.
void aqmlab_line_free(struct AqmlabLine *line);

// A packet enters at `now`, ns. What it makes the queue drop, itself or others, `aqmlab_line_pop_dropped` has. `verdict` may be null.
//
// # Safety
// `line` is a line; `packet` points at a packet; `verdict` is null or points at a verdict.
enum AqmlabStatus aqmlab_line_push(struct AqmlabLine *line,
                                   uint64_t now,
                                   const struct AqmlabPacket *packet,
                                   uint64_t payload,
                                   enum AqmlabVerdict *verdict);

// The time at which to call `aqmlab_line_pop` next, ns; `AQMLAB_STATUS_NOTHING` if the line is empty.
//
// # Safety
// `line` is a line; `due` points at a number.
enum AqmlabStatus aqmlab_line_next_event(const struct AqmlabLine *line, uint64_t *due);

// Takes the next packet that comes out at `now` or before, ns. `AQMLAB_STATUS_NOTHING` if what was due was none: it has been
// dropped, or is held up on the wire.
//
// # Safety
// `line` is a line; `delivery` points at a delivery.
enum AqmlabStatus aqmlab_line_pop(struct AqmlabLine *line,
                                  uint64_t now,
                                  struct AqmlabDelivery *delivery);

// Takes the next packet that was dropped, in order; `AQMLAB_STATUS_NOTHING` if there is none. They are kept until they are taken.
//
// # Safety
// `line` is a line; `dropped` points at a dropped packet.
enum AqmlabStatus aqmlab_line_pop_dropped(struct AqmlabLine *line,
                                          struct AqmlabDropped *dropped);

// Does all that happens until `now`, ns, so that counts, drops and observables are those of then.
//
// # Safety
// `line` is a line.
enum AqmlabStatus aqmlab_line_advance(struct AqmlabLine *line, uint64_t now);

// Counts since the start.
//
// # Safety
// `line` is a line; `counters` points at counters.
enum AqmlabStatus aqmlab_line_counters(const struct AqmlabLine *line, struct AqmlabCounters *counters);

// One quantity that the scheme shows (`aqmlab show SCHEME` lists them), as it is at the time of the last call.
//
// # Safety
// `line` is a line; `name` ends with a zero; `value` points at a number.
enum AqmlabStatus aqmlab_line_observe(const struct AqmlabLine *line,
                                      const char *name,
                                      double *value);

// Makes both directions at rest, of a scenario (TOML) with a link `up` and a link `down`, or with one link that leads up. `aqm` is a scheme
// for both or for each, as "cake@up+fq-codel@down"; null for the scenario's own.
//
// # Safety
// `scenario` ends with a zero; `aqm` is null or ends with a zero; `path` points at a pointer.
enum AqmlabStatus aqmlab_path_new(const char *scenario,
                                  const char *aqm,
                                  uint64_t seed,
                                  struct AqmlabPath **path);

// Frees a path with its lines; null is left alone.
//
// # Safety
// `path` is null or a path, not freed yet.
void aqmlab_path_free(struct AqmlabPath *path);

// The line from the client, for the functions of lines: to push, to pop what was dropped, to count. It is the path's, which frees it.
// Null if `path` is.
//
// # Safety
// `path` is null or a path.
struct AqmlabLine *aqmlab_path_up(struct AqmlabPath *path);

// The line to the client, likewise.
//
// # Safety
// `path` is null or a path.
struct AqmlabLine *aqmlab_path_down(struct AqmlabPath *path);

// The time at which to call `aqmlab_path_pop` next, ns; `AQMLAB_STATUS_NOTHING` if both lines are empty.
//
// # Safety
// `path` is a path; `due` points at a number.
enum AqmlabStatus aqmlab_path_next_event(const struct AqmlabPath *path, uint64_t *due);

// Takes the packet that comes out next at `now` or before, ns, in either direction. `AQMLAB_STATUS_NOTHING` if what was due was none.
//
// # Safety
// `path` is a path; `side` points at a side, `delivery` at a delivery.
enum AqmlabStatus aqmlab_path_pop(struct AqmlabPath *path,
                                  uint64_t now,
                                  enum AqmlabSide *side,
                                  struct AqmlabDelivery *delivery);

// Makes a line at rest. `description` is TOML with the keys of a link in a scenario.
//
// # Safety
// `description` ends with a zero; `line` points at a pointer.
enum AqmlabStatus aqmlab_line_new(const char *description, uint64_t seed, struct AqmlabLine **line);

// Makes a copy, which goes its own way from here on. Payloads are copied as the numbers that they are.
//
// # Safety
// `line` is a line; `copy` points at a pointer.
enum AqmlabStatus aqmlab_line_clone(const struct AqmlabLine *line, struct AqmlabLine **copy);

// Frees a line that `aqmlab_line_new` or `aqmlab_line_clone` made; null is left alone. So is a line of a path, which goes with the
// path: `aqmlab_error` says so.
//
// # Safety
// `line` is null or a line, not freed yet.
void aqmlab_line_free(struct AqmlabLine *line);

// A packet enters at `now`, ns. What it makes the queue drop, itself or others, `aqmlab_line_pop_dropped` has. `verdict` may be null.
//
// # Safety
// `line` is a line; `packet` points at a packet; `verdict` is null or points at a verdict.
enum AqmlabStatus aqmlab_line_push(struct AqmlabLine *line,
                                   uint64_t now,
                                   const struct AqmlabPacket *packet,
                                   uint64_t payload,
                                   enum AqmlabVerdict *verdict);

// The time at which to call `aqmlab_line_pop` next, ns; `AQMLAB_STATUS_NOTHING` if the line is empty.
//
// # Safety
// `line` is a line; `due` points at a number.
enum AqmlabStatus aqmlab_line_next_event(const struct AqmlabLine *line, uint64_t *due);

// Takes the next packet that comes out at `now` or before, ns. `AQMLAB_STATUS_NOTHING` if what was due was none: it has been
// dropped, or is held up on the wire.
//
// # Safety
// `line` is a line; `delivery` points at a delivery.
enum AqmlabStatus aqmlab_line_pop(struct AqmlabLine *line,
                                  uint64_t now,
                                  struct AqmlabDelivery *delivery);

// Takes the next packet that was dropped, in order; `AQMLAB_STATUS_NOTHING` if there is none. They are kept until they are taken.
//
// # Safety
// `line` is a line; `dropped` points at a dropped packet.
enum AqmlabStatus aqmlab_line_pop_dropped(struct AqmlabLine *line,
                                          struct AqmlabDropped *dropped);

// Does all that happens until `now`, ns, so that counts, drops and observables are those of then.
//
// # Safety
// `line` is a line.
enum AqmlabStatus aqmlab_line_advance(struct AqmlabLine *line, uint64_t now);

// Counts since the start.
//
// # Safety
// `line` is a line; `counters` points at counters.
enum AqmlabStatus aqmlab_line_counters(const struct AqmlabLine *line, struct AqmlabCounters *counters);

// One quantity that the scheme shows (`aqmlab show SCHEME` lists them), as it is at the time of the last call.
//
// # Safety
// `line` is a line; `name` ends with a zero; `value` points at a number.
enum AqmlabStatus aqmlab_line_observe(const struct AqmlabLine *line,
                                      const char *name,
                                      double *value);

// Makes both directions at rest, of a scenario (TOML) with a link `up` and a link `down`, or with one link that leads up. `aqm` is a scheme
// for both or for each, as "cake@up+fq-codel@down"; null for the scenario's own.
//
// # Safety
// `scenario` ends with a zero; `aqm` is null or ends with a zero; `path` points at a pointer.
enum AqmlabStatus aqmlab_path_new(const char *scenario,
                                  const char *aqm,
                                  uint64_t seed,
                                  struct AqmlabPath **path);

// Frees a path with its lines; null is left alone.
//
// # Safety
// `path` is null or a path, not freed yet.
void aqmlab_path_free(struct AqmlabPath *path);

// The line from the client, for the functions of lines: to push, to pop what was dropped, to count. It is the path's, which frees it.
// Null if `path` is.
//
// # Safety
// `path` is null or a path.
struct AqmlabLine *aqmlab_path_up(struct AqmlabPath *path);

// The line to the client, likewise.
//
// # Safety
// `path` is null or a path.
struct AqmlabLine *aqmlab_path_down(struct AqmlabPath *path);

// The time at which to call `aqmlab_path_pop` next, ns; `AQMLAB_STATUS_NOTHING` if both lines are empty.
//
// # Safety
// `path` is a path; `due` points at a number.
enum AqmlabStatus aqmlab_path_next_event(const struct AqmlabPath *path, uint64_t *due);

// Takes the packet that comes out next at `now` or before, ns, in either direction. `AQMLAB_STATUS_NOTHING` if what was due was none.
//
// # Safety
// `path` is a path; `side` points at a side, `delivery` at a delivery.
enum AqmlabStatus aqmlab_path_pop(struct AqmlabPath *path,
                                  uint64_t now,
                                  enum AqmlabSide *side,
                                  struct AqmlabDelivery *delivery);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* AQMLAB_H */
