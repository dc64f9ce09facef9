// Perfetto's format, read back by Google's own decoder with Perfetto's field numbers.

#include "sim/answer/report/export/perfetto_trace.hpp"

#include <gtest/gtest.h>
#include <perfetto_subset.pb.h>

#include <algorithm>
#include <map>
#include <optional>

#include "tests/unit/report/trace_sample.hpp"

namespace orrery::report {
namespace {

namespace proto = perfetto::protos;
using proto::TrackEvent;

// Fields that the schema does not know, anywhere below.
int unknown_fields(const google::protobuf::Message& message) {
  const auto* reflection = message.GetReflection();
  int count = reflection->GetUnknownFields(message).field_count();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
      continue;
    }
    if (field->is_repeated()) {
      for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
        count += unknown_fields(reflection->GetRepeatedMessage(message, field, i));
      }
    } else {
      count += unknown_fields(reflection->GetMessage(message, field));
    }
  }
  return count;
}

proto::Trace decoded(const Trace& trace) {
  proto::Trace read;
  EXPECT_TRUE(read.ParseFromString(to_perfetto_trace(trace)));
  EXPECT_EQ(unknown_fields(read), 0);
  return read;
}

using Words = std::map<std::uint64_t, std::string>;

template <typename Entries>
Words words_of(const Entries& entries) {
  Words words;
  for (const auto& entry : entries) {
    EXPECT_NE(entry.iid(), 0U) << "0 means: no word";
    EXPECT_TRUE(words.emplace(entry.iid(), entry.name()).second) << "one meaning of an id";
  }
  return words;
}

// What the trace holds, put together again as a reader does: events sorted by time, those of the
// same time as they stand, begins and ends matched on a stack of their track.
struct ReadSlice {
  std::uint64_t track = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string name = {};
  std::string category = {};
  std::vector<std::uint64_t> flows = {};
  std::map<std::string, std::string> arguments = {};
};

struct ReadTrace {
  std::map<std::uint64_t, proto::TrackDescriptor> tracks;
  std::vector<ReadSlice> slices;  // by track, begin, longer first
  std::vector<std::pair<std::uint64_t, double>> samples;
  std::vector<std::string> marks;
};

ReadTrace read_back(const Trace& trace) {
  const proto::Trace read = decoded(trace);
  ReadTrace result;
  const auto& first = read.packet(0);
  EXPECT_EQ(first.sequence_flags(), 1U) << "the first packet clears the incremental state";
  const Words categories = words_of(first.interned_data().event_categories());
  const Words names = words_of(first.interned_data().event_names());
  const Words keys = words_of(first.interned_data().debug_annotation_names());
  std::vector<const proto::TracePacket*> events;
  for (const auto& packet : read.packet()) {
    EXPECT_EQ(packet.trusted_packet_sequence_id(), 1U);
    if (packet.has_track_descriptor()) {
      EXPECT_TRUE(events.empty()) << "descriptors come first";
      result.tracks[packet.track_descriptor().uuid()] = packet.track_descriptor();
    } else if (packet.has_track_event()) {
      events.push_back(&packet);
      const bool uses_words = packet.track_event().has_name_iid();
      EXPECT_EQ(packet.sequence_flags(), uses_words ? 2U : 0U);
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto* a, const auto* b) { return a->timestamp() < b->timestamp(); });
  std::map<std::uint64_t, std::vector<ReadSlice>> open;
  for (const proto::TracePacket* packet : events) {
    const TrackEvent& event = packet->track_event();
    EXPECT_TRUE(result.tracks.contains(event.track_uuid()));
    if (event.type() == TrackEvent::TYPE_SLICE_BEGIN) {
      ReadSlice slice = {.track = event.track_uuid(), .begin = packet->timestamp()};
      slice.name = names.at(event.name_iid());
      for (const std::uint64_t category : event.category_iids()) {
        slice.category = categories.at(category);
      }
      slice.flows.assign(event.flow_ids().begin(), event.flow_ids().end());
      slice.flows.insert(slice.flows.end(), event.terminating_flow_ids().begin(),
                         event.terminating_flow_ids().end());
      for (const auto& argument : event.debug_annotations()) {
        slice.arguments[keys.at(argument.name_iid())] = argument.has_string_value()
                                                            ? argument.string_value()
                                                            : std::to_string(argument.int_value());
      }
      open[slice.track].push_back(slice);
    } else if (event.type() == TrackEvent::TYPE_SLICE_END) {
      auto& stack = open[event.track_uuid()];
      if (stack.empty()) {
        ADD_FAILURE() << "an end without a begin at " << packet->timestamp();
        continue;
      }
      stack.back().end = packet->timestamp();
      result.slices.push_back(stack.back());
      stack.pop_back();
    } else if (event.type() == TrackEvent::TYPE_COUNTER) {
      EXPECT_TRUE(result.tracks[event.track_uuid()].has_counter());
      result.samples.emplace_back(packet->timestamp(), event.double_counter_value());
    } else {
      EXPECT_EQ(event.type(), TrackEvent::TYPE_INSTANT);
      result.marks.push_back(names.at(event.name_iid()));
    }
  }
  for (const auto& [track, stack] : open) {
    EXPECT_TRUE(stack.empty()) << "a slice that never ends on track " << track;
  }
  return result;
}

// Slices of both as comparable rows.
using Row = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::string, std::string>;

std::vector<Row> rows_of(const Trace& trace) {
  std::vector<Row> rows;
  for (const TraceSlice& slice : trace.slices) {
    rows.emplace_back(std::uint64_t{slice.track} + 1, static_cast<std::uint64_t>(slice.begin.ns),
                      static_cast<std::uint64_t>(slice.end.ns), trace.name(slice.name),
                      trace.name(slice.category));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<Row> rows_of(const ReadTrace& trace) {
  std::vector<Row> rows;
  for (const ReadSlice& slice : trace.slices) {
    rows.emplace_back(slice.track, slice.begin, slice.end, slice.name, slice.category);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(PerfettoTrace, EveryPartIsReadBackAsItWas) {
  const Trace trace = testing::small_trace();
  const ReadTrace read = read_back(trace);
  EXPECT_EQ(rows_of(read), rows_of(trace));
  EXPECT_EQ(read.marks, std::vector<std::string>{"failure"});
  ASSERT_EQ(read.samples.size(), 3U);
  EXPECT_DOUBLE_EQ(read.samples.back().second, 8.5);
  const auto pass = std::find_if(read.slices.begin(), read.slices.end(),
                                 [](const ReadSlice& s) { return s.end == 1'234'567; });
  ASSERT_NE(pass, read.slices.end());
  EXPECT_EQ(pass->arguments.at("micro_batch"), "0");
  EXPECT_EQ(pass->arguments.at("after"), "a \"quoted\" word");
}

TEST(PerfettoTrace, TracksFormATreeOfProcessesThreadsAndCounters) {
  const ReadTrace read = read_back(testing::small_trace());
  ASSERT_EQ(read.tracks.size(), 1U + 8U);
  EXPECT_EQ(read.tracks.at(0).process_ordering(), 1);
  EXPECT_EQ(read.tracks.at(0).thread_ordering(), 1);
  std::map<std::int64_t, std::string> numbers;
  const auto unique = [&numbers](std::int64_t number, const std::string& name) {
    EXPECT_GT(number, 0) << "0 is the idle process";
    EXPECT_TRUE(numbers.emplace(number, name).second) << name << " and " << numbers[number];
  };
  for (const auto& [uuid, track] : read.tracks) {
    if (track.has_process()) {
      unique(track.process().pid(), track.process().process_name());
    } else if (track.has_thread()) {
      unique(track.thread().tid(), track.thread().thread_name());
    }
  }
  const auto& compute = read.tracks.at(3);
  EXPECT_EQ(compute.thread().thread_name(), "compute");
  EXPECT_EQ(compute.thread().pid(), read.tracks.at(1).process().pid());
  EXPECT_EQ(read.tracks.at(6).name(), "operations");
  EXPECT_EQ(read.tracks.at(6).parent_uuid(), 5U);
  EXPECT_EQ(read.tracks.at(7).counter().unit(), 3);
  EXPECT_EQ(read.tracks.at(7).parent_uuid(), 1U);
  EXPECT_EQ(read.tracks.at(8).counter().unit_name(), "$/h");
}

TEST(PerfettoTrace, AFlowGoesThroughItsSlicesAndEndsAtTheLast) {
  const proto::Trace read = decoded(testing::small_trace());
  std::map<std::uint64_t, std::vector<std::uint64_t>> through;
  std::map<std::uint64_t, std::uint64_t> ends;
  for (const auto& packet : read.packet()) {
    for (const std::uint64_t flow : packet.track_event().flow_ids()) {
      through[flow].push_back(packet.timestamp());
    }
    for (const std::uint64_t flow : packet.track_event().terminating_flow_ids()) {
      EXPECT_TRUE(ends.emplace(flow, packet.timestamp()).second);
    }
  }
  EXPECT_EQ(through, (std::map<std::uint64_t, std::vector<std::uint64_t>>{{1, {0, 2'000}}}));
  EXPECT_EQ(ends, (std::map<std::uint64_t, std::uint64_t>{{1, 3'000}}));
}

TEST(PerfettoTrace, RandomTracesAreReadBackSliceBySlice) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = testing::random_trace(seed, 4, 200);
    const ReadTrace read = read_back(trace);
    EXPECT_EQ(rows_of(read), rows_of(trace));
    EXPECT_EQ(read.samples.size(), trace.samples.size());
  }
}

// Numbers of threads may not run into those of the next process, however many there are.
TEST(PerfettoTrace, ThousandsOfThreadsKeepNumbersOfTheirOwn) {
  TraceBuilder builder("x");
  for (int p = 0; p < 2; ++p) {
    const TrackId process = builder.process("p");
    for (int i = 0; i < 1500; ++i) {
      (void)builder.thread(process, "t", i);
    }
  }
  const proto::Trace read = decoded(std::move(builder).build());
  std::map<std::int64_t, int> numbers;
  for (const auto& packet : read.packet()) {
    const auto& track = packet.track_descriptor();
    if (track.has_process() || track.has_thread()) {
      EXPECT_EQ(++numbers[track.has_process() ? track.process().pid() : track.thread().tid()], 1);
    }
  }
  EXPECT_EQ(numbers.size(), 2U + 3000U);
}

TEST(PerfettoTrace, AnEmptyTraceHasNothingButItsRoot) {
  const proto::Trace read = decoded(std::move(TraceBuilder("nothing")).build());
  EXPECT_EQ(read.packet_size(), 2);
}

}  // namespace
}  // namespace orrery::report
