// Files of traces: packed, cut off, damaged, too large, of something else.

#include "sim/answer/trace/event_reader.hpp"

#include <gtest/gtest.h>

#include "sim/base/error.hpp"
#include "tests/support.hpp"
#include "tests/unit/trace/kineto_writer.hpp"

namespace orrery::trace {
namespace {

using testing::KinetoWriter;
using testing::packed;

std::string long_trace() {
  KinetoWriter writer(3, 8);
  for (int i = 0; i < 5000; ++i) {
    writer.kernel("kernel " + std::to_string(i % 7), 10.0 * i, 4.5, {.correlation = i + 1});
  }
  return writer.text();
}

class EventReader : public ::testing::Test {
 protected:
  EventReading read(const std::string& name, const std::string& text,
                    const ReadLimits& limits = {}) {
    return read_events(folder_.write(name, text), limits, [this](const TraceEvent& event) {
      events_.push_back(event);
      return events_.size() < most_;
    });
  }

  TempFolder folder_;
  std::vector<TraceEvent> events_;
  std::size_t most_ = SIZE_MAX;
};

TEST_F(EventReader, ReadsArgumentsOfKernelsAndTheRank) {
  const EventReading reading = read("a.json", KinetoWriter(3, 8)
                                                  .kernel("ncclDevKernel_AllGather", 1.001, 2.5,
                                                          {.stream = 20,
                                                           .device = 5,
                                                           .correlation = 77,
                                                           .collective = "_allgather_base",
                                                           .group = "4",
                                                           .description = "mesh_tp",
                                                           .ranks = "[0, 1]",
                                                           .group_size = 2})
                                                  .text());
  EXPECT_EQ(reading.problem, "");
  EXPECT_EQ(reading.facts.rank, 3);
  EXPECT_EQ(reading.facts.world_size, 8);
  ASSERT_EQ(events_.size(), 1U);
  const TraceEvent& event = events_[0];
  EXPECT_EQ(event.time, 1'001);
  EXPECT_EQ(event.duration, 2'500);
  EXPECT_EQ(event.correlation, 77);
  EXPECT_EQ(event.device, 5);
  EXPECT_EQ(event.stream, 20);
  EXPECT_EQ(event.group_size, 2);
  EXPECT_EQ(event.collective, "_allgather_base");
  EXPECT_EQ(event.group_description, "mesh_tp");
  EXPECT_EQ(event.group_ranks, "[0, 1]");
}

TEST_F(EventReader, RefusalEndsTheReading) {
  most_ = 10;
  const EventReading reading = read("a.json", long_trace());
  EXPECT_TRUE(reading.refused);
  EXPECT_EQ(events_.size(), 10U);
  EXPECT_EQ(reading.problem, "");
}

#ifdef ORRERY_TESTS_HAVE_ZLIB

TEST_F(EventReader, ReadsPackedFilesWhateverTheirNameIs) {
  const std::string text = long_trace();
  const EventReading reading = read("a.json", packed(text));
  EXPECT_EQ(reading.problem, "");
  EXPECT_EQ(events_.size(), 5000U);
  EXPECT_TRUE(is_trace_file(folder_ / "a.json"));
}

TEST_F(EventReader, ReadsAFileOfSeveralPackedParts) {
  const std::string text = long_trace();
  const std::size_t half = text.size() / 2;
  EXPECT_EQ(read("a.json.gz", packed(text.substr(0, half)) + packed(text.substr(half))).problem,
            "");
  EXPECT_EQ(events_.size(), 5000U);
}

TEST_F(EventReader, SaysWhenPackedBytesAreCutOffOrDamaged) {
  const std::string all = packed(long_trace());
  EXPECT_EQ(read("a.json.gz", all.substr(0, all.size() / 2)).problem,
            "the file is cut off: its packed bytes end before they should");
  EXPECT_FALSE(events_.empty());
  std::string damaged = all;  // a block of a kind that there is not
  constexpr std::size_t kGzipHead = 10;
  damaged[kGzipHead] = '\x07';
  const std::string problem = read("b.json.gz", damaged).problem;
  EXPECT_TRUE(problem.starts_with("the file cannot be unpacked: its packed bytes are damaged"))
      << problem;
}

TEST_F(EventReader, AFileThatUnpacksToTooMuchIsRefused) {
  const std::string text = "[" + std::string(200'000, ' ') + "]";
  EXPECT_EQ(
      read("a.json.gz", packed(text), {.most_bytes = 100'000, .stop = {}, .progress = {}}).problem,
      "the file unpacks to more than the 100 kB that are read");
}

// Both fit into some hundred kilobytes, and would take as much memory as they unpack to.
TEST_F(EventReader, RefusesWhatAParserWouldKeepWhole) {
  const std::string string = "[{\"ph\": \"" + std::string(20'000'000, 'x') + "\"}]";
  EXPECT_EQ(read("a.json.gz", packed(string)).problem,
            "no trace: a word of more than 16.0 MB ends at byte 16,000,007");
  const std::string blanks = "[" + std::string(20'000'000, ' ') + "]";
  EXPECT_EQ(read("a.json.gz", packed(blanks)).problem,
            "no trace: a word of more than 16.0 MB ends at byte 16,000,001");
  EXPECT_EQ(read("a.json.gz", packed(std::string(1'000'000, '['))).problem,
            "no trace: more than 256 levels of brackets at byte 256");
}

TEST_F(EventReader, RefusesWhatIsPackedCloserThanAnyTrace) {
  std::string numbers = "[";
  while (numbers.size() < 68'000'000) {
    numbers += "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,";
  }
  EXPECT_EQ(read("a.json.gz", packed(numbers + "1]")).problem,
            "no trace: the file unpacks to more than 200 times its size");
}

#endif

// Without one event there is no moment between events.
TEST_F(EventReader, StopsWithinALongText) {
  std::string numbers = "[0";
  while (numbers.size() < 4'000'000) {
    numbers += ",1111111111111111";
  }
  std::stop_source source;
  source.request_stop();
  const EventReading reading =
      read("a.json", numbers + "]",
           {.most_bytes = 1'000'000'000, .stop = source.get_token(), .progress = {}});
  EXPECT_TRUE(reading.cancelled);
  EXPECT_EQ(reading.problem, "");
}

TEST_F(EventReader, ReportsProgressUpToTheWholeFile) {
  double last = 0.0;
  ReadLimits limits;
  limits.progress = [&last](double share) {
    EXPECT_GE(share, last);
    last = share;
  };
  EXPECT_EQ(read("a.json.gz", packed(long_trace()), limits).problem, "");
  EXPECT_GT(last, 0.5);
  EXPECT_LE(last, 1.0);
}

TEST_F(EventReader, TellsTracesFromOtherFiles) {
  const auto is_trace = [this](const std::string& text) {
    return is_trace_file(folder_.write("file", text));
  };
  EXPECT_TRUE(is_trace(KinetoWriter().text()));
  EXPECT_TRUE(is_trace(R"( [ {"ph": "X", "ts": 1}])"));
  EXPECT_FALSE(is_trace("format: orrery/1\nname: traceEvents\n"));
  EXPECT_FALSE(is_trace(R"({"schema": "orrery-evaluation/1"})"));
  EXPECT_FALSE(is_trace(R"({"nccl_version": 1, "results": []})"));
  EXPECT_FALSE(is_trace(""));
  EXPECT_THROW((void)is_trace_file(folder_ / "none"), Error);
  EXPECT_THROW((void)is_trace_file(folder_), Error);
}

TEST(NanosecondsOf, IsExactForDecimalsAndRoundsTheRest) {
  EXPECT_EQ(nanoseconds_of("1731000000000000.125"), 1'731'000'000'000'000'125);
  EXPECT_EQ(nanoseconds_of("-3.5"), -3'500);
  EXPECT_EQ(nanoseconds_of("0.0005"), 1);  // half a nanosecond, away from zero
  EXPECT_EQ(nanoseconds_of("1.5e3"), 1'500'000);
  EXPECT_FALSE(nanoseconds_of("1e30").has_value());
  EXPECT_FALSE(nanoseconds_of("soon").has_value());
  EXPECT_FALSE(nanoseconds_of("").has_value());
}

}  // namespace
}  // namespace orrery::trace
