#include "sim/step/engine/event_queue.hpp"

namespace orrery::engine::detail {

void reject_event(const Event& event, std::uint64_t sequence, SimTime last_popped) {
  ORRERY_CHECK(event.time >= last_popped,
               "event (time {} ns, priority {}, payload {}) is scheduled before the last popped "
               "event at {} ns",
               event.time.ns, event.priority, event.payload, last_popped.ns);
  ORRERY_CHECK(false,
               "event (time {} ns, priority {}, payload {}, sequence {}) exceeds {} priorities, "
               "{} payloads or {} pushes",
               event.time.ns, event.priority, event.payload, sequence,
               std::uint64_t{1} << kPriorityBits, std::uint64_t{1} << kPayloadBits,
               (std::uint64_t{1} << kSequenceBits) - 1);
}

}  // namespace orrery::engine::detail
