#pragma once

// A trace in Perfetto's own format: protocol buffers of TrackEvent (perfetto.protos.Trace).
//
// part of a trace | packets
// ----------------|-----------------------------------------------------------------------------
// process, thread | TrackDescriptor with pid or pid and tid, and its place among its siblings
// thread below a thread | TrackDescriptor with the parent's uuid
// counter         | TrackDescriptor with a counter and its unit, below its process
// slice           | TrackEvent SLICE_BEGIN with name, category, arguments, flows; SLICE_END
// mark, sample    | TrackEvent INSTANT; COUNTER with a double
// flow            | its number at the begin of every slice of it, terminating at the last
//
// Names, categories and keys of arguments are interned in the first packet, so that an event holds
// small numbers; times are nanoseconds as they are. Events are written by track, in order of time
// within a track, an end before a begin at the same moment; readers sort by time and keep that
// order. With arguments, flows and samples a slice takes 46 to 88 bytes, a third of Chrome JSON
// (docs/exports.md).
//
// Field numbers: google/perfetto, protos/perfetto/trace/, at commit ec5d16b (2026-08-22). Fields
// that older readers do not know (order of processes and threads) are skipped by them.

#include <string>

#include "sim/answer/report/export/trace.hpp"

namespace orrery::report {

[[nodiscard]] std::string to_perfetto_trace(const Trace& trace);

}  // namespace orrery::report
