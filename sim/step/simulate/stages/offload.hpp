#pragma once

// Time that copies between a GPU and its host add to a pass and to the optimizer step. Used inside
// step/ only.
//
//   copies of a pass = max(bytes out, bytes in) / rate, bytes from NVMe / (nvme_read / n) at least
//   exposed          = overlap: max(0, copies - time of the pass); else all of them
//   update           = P (2 b_o + b_a + b_p) n / host_bandwidth
//   drives           = P b_o n (1 / nvme_read + 1 / nvme_write)
//   optimizer step   = overlap: max(update, drives, P b_p / rate) + what is left of the gradients
//                      behind the last backward; else the sum of all four
//
// symbol | meaning                                                           | unit   | origin
// -------|-------------------------------------------------------------------|--------|---------
// rate   | link, at most a stated host_bandwidth / n: one GPU, one direction | byte/s | scenario
// n      | GPUs of one node, which share its memory and its drives           | GPUs   | cluster
// P      | parameters that the rank updates                                  | -      | layout
// b_o    | state per parameter, read and written                             | byte   | precision
// b_a, b_p | gradient on the wire (that of the activations), parameter       | byte   | precision
//
// Gradients leave the GPU after their reduction: after every micro-batch where that is when they
// are reduced (or where nothing is reduced), else once a step. What a CPU's Adam reaches, the
// default host_bandwidth, is no limit of copies, which no core makes. Sources: ZeRO-Offload, arXiv
// 2101.06840; ZeRO-Infinity, arXiv 2104.07857.

#include "sim/step/simulate/stages/costing.hpp"

namespace orrery::step {

// What one bucket moves per micro-batch.
struct BucketBytes {
  Bytes activations;     // that its forward leaves behind and that wait on the host
  double held = 0.0;     // parameters of the rank's shard of the model, sharded as they are kept
  double updated = 0.0;  // parameters whose gradients this rank keeps
};

// Fills `copies` of a bucket and adds the exposed ones to its passes.
void add_copies(BucketCosts& bucket, const Costing& costing, const BucketBytes& moved);

// Where the rate of the copies is from.
[[nodiscard]] SourceKind copies_source(const Costing& costing);

// What `pass` does not hide of `copies`; a forward that runs with a backward is one pass, whose
// copies in both directions pass each other on the link.
void add_exposed(Parts& pass, const PassCopies& copies, bool overlap, SourceKind source);

// Gradients wait in host memory between micro-batches.
[[nodiscard]] bool gradients_wait_on_host(const StepInput& input);

// The optimizer step on the host; `backward`: of one micro-batch, beside which gradients leave.
[[nodiscard]] Parts offloaded_update(const Costing& costing, double parameters, Seconds backward);

// Host memory that one GPU's share takes.
struct HostBytes {
  double updated = 0.0;  // parameters whose state the rank keeps
  Bytes parameters;      // 16-bit, as the rank keeps them
  Bytes activations;     // greatest sum of those that wait there
};

[[nodiscard]] Bytes host_bytes(const StepInput& input, const HostBytes& of);

}  // namespace orrery::step
