#include "sim/answer/report/export/perfetto_trace.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::report {

namespace {

// A minimal writer of protocol buffer messages, which only appends fields.
//
//   tag = field * 8 + wire type;  wire types: 0 varint, 1 eight bytes, 2 length and bytes
//   varint: 7 bits a byte, the lowest first, high bit set on all bytes but the last
//   message inside a message: tag, length, its bytes
//
// Source: Protocol Buffers, "Encoding" (protobuf.dev). Fields come out in the order of the calls;
// negative integers take ten bytes, as the format asks for.

class ProtoBuffer {
 public:
  void varint(std::uint32_t field, std::uint64_t value) {
    raw_varint(std::uint64_t{field} << kTypeBits);
    raw_varint(value);
  }

  void integer(std::uint32_t field, std::int64_t value) {
    varint(field, static_cast<std::uint64_t>(value));
  }

  void fixed64(std::uint32_t field, std::uint64_t value) {
    raw_varint((std::uint64_t{field} << kTypeBits) | kEightBytes);
    std::array<char, sizeof(value)> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<char>((value >> (kBitsInByte * i)) & kByte);
    }
    bytes_.append(bytes.data(), bytes.size());
  }

  void number(std::uint32_t field, double value) {
    fixed64(field, std::bit_cast<std::uint64_t>(value));
  }

  void text(std::uint32_t field, std::string_view value) {
    raw_varint((std::uint64_t{field} << kTypeBits) | kLength);
    raw_varint(value.size());
    bytes_.append(value);
  }

  void message(std::uint32_t field, const ProtoBuffer& inside) { text(field, inside.bytes_); }

  void clear() { bytes_.clear(); }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  static constexpr unsigned kTypeBits = 3;
  static constexpr std::uint64_t kEightBytes = 1;
  static constexpr std::uint64_t kLength = 2;
  static constexpr unsigned kBitsInByte = 8;
  static constexpr std::uint64_t kByte = 0xff;

  void raw_varint(std::uint64_t value) {
    constexpr unsigned kBits = 7;
    constexpr std::uint64_t kMore = 0x80;
    std::array<char, 10> bytes{};
    std::size_t count = 0;
    while (value >= kMore) {
      bytes[count++] = static_cast<char>((value & (kMore - 1)) | kMore);
      value >>= kBits;
    }
    bytes[count++] = static_cast<char>(value);
    bytes_.append(bytes.data(), count);
  }

  std::string bytes_;
};

// Field numbers, by message.
namespace trace_field {
constexpr std::uint32_t kPacket = 1;
}

namespace packet_field {
constexpr std::uint32_t kTimestamp = 8;
constexpr std::uint32_t kSequence = 10;
constexpr std::uint32_t kTrackEvent = 11;
constexpr std::uint32_t kInternedData = 12;
constexpr std::uint32_t kSequenceFlags = 13;
constexpr std::uint32_t kTrackDescriptor = 60;
}  // namespace packet_field

namespace interned_field {
constexpr std::uint32_t kCategories = 1;
constexpr std::uint32_t kNames = 2;
constexpr std::uint32_t kAnnotationNames = 3;
constexpr std::uint32_t kId = 1;  // of each entry
constexpr std::uint32_t kText = 2;
}  // namespace interned_field

namespace track_field {
constexpr std::uint32_t kUuid = 1;
constexpr std::uint32_t kName = 2;
constexpr std::uint32_t kProcess = 3;
constexpr std::uint32_t kThread = 4;
constexpr std::uint32_t kParentUuid = 5;
constexpr std::uint32_t kCounter = 8;
constexpr std::uint32_t kChildOrdering = 11;
constexpr std::uint32_t kSiblingRank = 12;
constexpr std::uint32_t kProcessOrdering = 19;
constexpr std::uint32_t kThreadOrdering = 20;
constexpr std::uint32_t kPid = 1;  // of process and thread
constexpr std::uint32_t kTid = 2;
constexpr std::uint32_t kThreadName = 5;
constexpr std::uint32_t kProcessName = 6;
constexpr std::uint32_t kUnit = 3;  // of counter
constexpr std::uint32_t kUnitName = 6;
constexpr std::uint64_t kExplicitChildren = 3;
constexpr std::uint64_t kExplicitOrder = 1;  // of processes and threads
constexpr std::uint64_t kSizeInBytes = 3;
}  // namespace track_field

namespace event_field {
constexpr std::uint32_t kCategory = 3;
constexpr std::uint32_t kAnnotation = 4;
constexpr std::uint32_t kType = 9;
constexpr std::uint32_t kName = 10;
constexpr std::uint32_t kTrack = 11;
constexpr std::uint32_t kDoubleCounter = 44;
constexpr std::uint32_t kFlow = 47;
constexpr std::uint32_t kTerminatingFlow = 48;
constexpr std::uint32_t kAnnotationName = 1;
constexpr std::uint32_t kAnnotationInteger = 4;
constexpr std::uint32_t kAnnotationText = 6;
}  // namespace event_field

constexpr std::uint64_t kStateCleared = 1;  // sequence flags
constexpr std::uint64_t kNeedsState = 2;

enum class EventType : std::uint64_t { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };

constexpr std::uint64_t kSequence = 1;  // all packets are of one sequence

class PerfettoWriter {
 public:
  explicit PerfettoWriter(const Trace& trace) : trace_(trace) {}

  std::string write() {
    write_words();
    write_tracks();
    flows_ = flows_by_slice(trace_);
    for (std::size_t i = 0; i < trace_.slices.size(); ++i) {
      close_slices(trace_.slices[i].track, trace_.slices[i].begin);
      open_slice(static_cast<SliceId>(i));
    }
    close_slices(kNoTrack, kForever);
    for (const TraceMark& mark : trace_.marks) {
      begin_event(EventType::instant, mark.track);
      event_.varint(event_field::kName, mark.name);
      annotate(mark);
      end_event(mark.at, true);
    }
    for (const TraceSample& sample : trace_.samples) {
      begin_event(EventType::counter, sample.counter);
      event_.number(event_field::kDoubleCounter, sample.value);
      end_event(sample.at, false);
    }
    return out_.take();
  }

 private:
  [[nodiscard]] static std::uint64_t uuid(TrackId track) {
    return std::uint64_t{track} + 1;  // 0 is the root
  }

  void end_packet() { out_.message(trace_field::kPacket, packet_); }

  // Every word under every use that some slice, mark or argument makes of it.
  void write_words() {
    constexpr std::uint8_t kAsName = 1;
    constexpr std::uint8_t kAsCategory = 2;
    constexpr std::uint8_t kAsKey = 4;
    std::vector<std::uint8_t> uses(trace_.names.size(), 0);
    const auto use = [&uses](NameId name, std::uint8_t as) {
      uses[name] = static_cast<std::uint8_t>(uses[name] | as);
    };
    for (const TraceSlice& slice : trace_.slices) {
      use(slice.name, kAsName);
      use(slice.category, kAsCategory);
    }
    for (const TraceMark& mark : trace_.marks) {
      use(mark.name, kAsName);
    }
    for (const TraceArgument& argument : trace_.arguments) {
      use(argument.key, kAsKey);
    }
    ProtoBuffer words;
    ProtoBuffer entry;
    for (const auto& [field, as] : {std::pair(interned_field::kCategories, kAsCategory),
                                    std::pair(interned_field::kNames, kAsName),
                                    std::pair(interned_field::kAnnotationNames, kAsKey)}) {
      for (NameId id = 1; id < trace_.names.size(); ++id) {
        if ((uses[id] & as) != 0) {
          entry.clear();
          entry.varint(interned_field::kId, id);
          entry.text(interned_field::kText, trace_.names[id]);
          words.message(field, entry);
        }
      }
    }
    packet_.clear();
    packet_.varint(packet_field::kSequence, kSequence);
    packet_.varint(packet_field::kSequenceFlags, kStateCleared);
    packet_.message(packet_field::kInternedData, words);
    end_packet();
  }

  void write_descriptor(const ProtoBuffer& descriptor) {
    packet_.clear();
    packet_.varint(packet_field::kTimestamp, 0);
    packet_.varint(packet_field::kSequence, kSequence);
    packet_.message(packet_field::kTrackDescriptor, descriptor);
    end_packet();
  }

  // Numbers of processes leave room for those of their threads: both are unique in the trace.
  [[nodiscard]] std::int64_t process_stride() const {
    constexpr std::int64_t kLeast = 1000;
    constexpr std::int64_t kNext = 10;
    std::vector<std::int64_t> threads(trace_.tracks.size(), 0);
    for (TrackId i = 0; i < trace_.tracks.size(); ++i) {
      ++threads[trace_.process_of(i)];
    }
    std::int64_t most = 0;
    for (const std::int64_t count : threads) {
      most = std::max(most, count);
    }
    std::int64_t stride = kLeast;
    while (stride <= most) {
      stride *= kNext;
    }
    return stride;
  }

  void write_tracks() {
    ProtoBuffer root;
    root.varint(track_field::kUuid, 0);
    root.varint(track_field::kProcessOrdering, track_field::kExplicitOrder);
    root.varint(track_field::kThreadOrdering, track_field::kExplicitOrder);
    write_descriptor(root);
    const std::int64_t stride = process_stride();
    std::vector<std::int64_t> threads(trace_.tracks.size(), 0);
    for (TrackId i = 0; i < trace_.tracks.size(); ++i) {
      const TrackId process = trace_.process_of(i);
      const std::int64_t pid = (trace_.tracks[process].number + 1) * stride;
      write_track(i, pid, pid + threads[process]++);
    }
  }

  void write_track(TrackId id, std::int64_t pid, std::int64_t tid) {
    const TraceTrack& track = trace_.tracks[id];
    ProtoBuffer descriptor;
    ProtoBuffer inside;
    descriptor.varint(track_field::kUuid, uuid(id));
    inside.integer(track_field::kPid, pid);
    if (track.kind == TraceTrack::Kind::process) {
      inside.text(track_field::kProcessName, track.name);
      descriptor.message(track_field::kProcess, inside);
    } else if (track.kind == TraceTrack::Kind::thread && id_is_process(track.parent)) {
      inside.integer(track_field::kTid, tid);
      inside.text(track_field::kThreadName, track.name);
      descriptor.message(track_field::kThread, inside);
    } else {
      descriptor.varint(track_field::kParentUuid, uuid(track.parent));
      descriptor.text(track_field::kName, track.name);
    }
    if (track.kind == TraceTrack::Kind::counter) {
      ProtoBuffer counter;
      if (track.unit == "bytes") {
        counter.varint(track_field::kUnit, track_field::kSizeInBytes);
      } else {
        counter.text(track_field::kUnitName, track.unit);
      }
      descriptor.message(track_field::kCounter, counter);
    } else {
      descriptor.varint(track_field::kChildOrdering, track_field::kExplicitChildren);
      descriptor.integer(track_field::kSiblingRank, track.number);
    }
    write_descriptor(descriptor);
  }

  [[nodiscard]] bool id_is_process(TrackId id) const {
    return trace_.tracks[id].kind == TraceTrack::Kind::process;
  }

  void begin_event(EventType type, TrackId track) {
    event_.clear();
    event_.varint(event_field::kType, static_cast<std::uint64_t>(type));
    event_.varint(event_field::kTrack, uuid(track));
  }

  void end_event(SimTime at, bool has_words) {
    packet_.clear();
    packet_.integer(packet_field::kTimestamp, at.ns);
    packet_.varint(packet_field::kSequence, kSequence);
    if (has_words) {
      packet_.varint(packet_field::kSequenceFlags, kNeedsState);
    }
    packet_.message(packet_field::kTrackEvent, event_);
    end_packet();
  }

  // With the arguments of a slice or mark.
  void annotate(const auto& part) {
    for (const TraceArgument& argument : trace_.arguments_of(part)) {
      annotation_.clear();
      annotation_.varint(event_field::kAnnotationName, argument.key);
      if (argument.is_word) {
        annotation_.text(event_field::kAnnotationText,
                         trace_.name(static_cast<NameId>(argument.value)));
      } else {
        annotation_.integer(event_field::kAnnotationInteger, argument.value);
      }
      event_.message(event_field::kAnnotation, annotation_);
    }
  }

  void open_slice(SliceId id) {
    const TraceSlice& slice = trace_.slices[id];
    begin_event(EventType::slice_begin, slice.track);
    event_.varint(event_field::kName, slice.name);
    if (slice.category != 0) {
      event_.varint(event_field::kCategory, slice.category);
    }
    annotate(slice);
    for (const FlowStep& step : flows_.of(id)) {
      event_.fixed64(step.last ? event_field::kTerminatingFlow : event_field::kFlow,
                     std::uint64_t{step.flow} + 1);
    }
    end_event(slice.begin, true);
    open_.push_back(slice.end);
    open_track_ = slice.track;
  }

  // Ends what runs no longer when something begins at `time` on `track`.
  void close_slices(TrackId track, SimTime time) {
    while (!open_.empty() && (track != open_track_ || open_.back() <= time)) {
      begin_event(EventType::slice_end, open_track_);
      end_event(open_.back(), false);
      open_.pop_back();
    }
  }

  const Trace& trace_;
  FlowsBySlice flows_;
  std::vector<SimTime> open_;  // ends of the slices that run, the innermost last
  TrackId open_track_ = kNoTrack;
  ProtoBuffer out_;
  ProtoBuffer packet_;
  ProtoBuffer event_;
  ProtoBuffer annotation_;
};

}  // namespace

std::string to_perfetto_trace(const Trace& trace) { return PerfettoWriter(trace).write(); }

}  // namespace orrery::report
