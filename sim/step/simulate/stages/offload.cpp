#include "sim/step/simulate/stages/offload.hpp"

#include <algorithm>

namespace orrery::step {

namespace {

double gpus_of_node(const StepInput& input) {
  return static_cast<double>(std::min(input.cluster.gpus_per_node, input.layout.gpus));
}

BytesPerSecond update_bandwidth(const OffloadSpec& spec) {
  return spec.host_bandwidth.value_or(kHostUpdateBandwidth);
}

SourceKind update_source(const OffloadSpec& spec) {
  return spec.host_bandwidth ? SourceKind::given : SourceKind::assumed;
}

struct Link {
  BytesPerSecond rate;
  SourceKind kind;
};

Link host_link(const Costing& costing) {
  const OffloadSpec& spec = costing.input.spec.offload;
  const auto& own = costing.costs.gpu().host_bandwidth;
  const BytesPerSecond wire = spec.link.value_or(own.value());
  if (spec.host_bandwidth) {
    const BytesPerSecond share = *spec.host_bandwidth / gpus_of_node(costing.input);
    if (share < wire) {
      return {share, SourceKind::given};
    }
  }
  return {wire, spec.link ? SourceKind::given : own.kind()};
}

Seconds drive_time(const Costing& costing, Bytes read, Bytes written) {
  const OffloadSpec& spec = costing.input.spec.offload;
  const double sharing = gpus_of_node(costing.input);
  Seconds time;
  if (read > Bytes{} && spec.nvme_read) {
    time += read * sharing / *spec.nvme_read;
  }
  if (written > Bytes{} && spec.nvme_write) {
    time += written * sharing / *spec.nvme_write;
  }
  return time;
}

Bytes wire_gradients(const StepInput& input, double parameters) {
  return model::bytes_per_element(input.spec.precision.activation) * parameters;
}

}  // namespace

void PassCopies::add(const PassCopies& other) {
  out += other.out;
  in += other.in;
  from_drives += other.from_drives;
}

SourceKind copies_source(const Costing& costing) { return host_link(costing).kind; }

void add_exposed(Parts& pass, const PassCopies& copies, bool overlap, SourceKind source) {
  const Seconds time = std::max({copies.out, copies.in, copies.from_drives});
  const Seconds hidden = overlap ? pass.total() : Seconds{};
  if (time > hidden) {
    pass.add(StepCategory::offload, cost::term(time - hidden, source));
  }
}

bool gradients_wait_on_host(const StepInput& input) {
  return input.spec.offload.optimizer != OffloadTarget::none &&
         (!has_replicas(input) ||
          input.choices.reduction == hardware::GradientReduction::per_micro_batch);
}

void add_copies(BucketCosts& bucket, const Costing& costing, const BucketBytes& moved) {
  const StepInput& input = costing.input;
  const OffloadSpec& spec = input.spec.offload;
  const Bytes activations = moved.activations;
  const Bytes parameters =
      spec.parameters == OffloadTarget::none
          ? Bytes{}
          : model::bytes_per_element(input.spec.precision.parameter) * moved.held;
  const Bytes drives = spec.parameters == OffloadTarget::nvme ? parameters : Bytes{};
  const Bytes gradients =
      gradients_wait_on_host(input) ? wire_gradients(input, moved.updated) : Bytes{};
  const Link link = host_link(costing);
  const Seconds read = drive_time(costing, drives, {});
  BucketCopies& copies = bucket.copies;
  copies.forward = {activations / link.rate, parameters / link.rate, read};
  copies.backward_input = {Seconds{}, (activations + parameters) / link.rate, read};
  copies.backward_weight = {gradients / link.rate, Seconds{}, Seconds{}};
  PassCopies backward = copies.backward_input;
  backward.add(copies.backward_weight);
  add_exposed(bucket.forward, copies.forward, spec.overlap, link.kind);
  add_exposed(bucket.backward, backward, spec.overlap, link.kind);
  add_exposed(bucket.backward_input, copies.backward_input, spec.overlap, link.kind);
  add_exposed(bucket.backward_weight, copies.backward_weight, spec.overlap, link.kind);
}

Parts offloaded_update(const Costing& costing, double parameters, Seconds backward) {
  const StepInput& input = costing.input;
  const OffloadSpec& spec = input.spec.offload;
  const model::PrecisionSpec& precision = input.spec.precision;
  const Link link = host_link(costing);
  const Bytes state = precision.beside_parameters() * parameters;
  const Bytes returned = model::bytes_per_element(precision.parameter) * parameters;
  const Bytes gradients = wire_gradients(input, parameters);
  const Seconds update =
      (state * 2.0 + gradients + returned) * gpus_of_node(input) / update_bandwidth(spec);
  const bool on_drives = spec.optimizer == OffloadTarget::nvme;
  const Seconds drives = on_drives ? drive_time(costing, state, state) : Seconds{};
  // Parameters that live on the host go back to the GPU pass by pass.
  const Seconds back =
      spec.parameters == OffloadTarget::none
          ? returned / link.rate
          : (spec.parameters == OffloadTarget::nvme ? drive_time(costing, {}, returned)
                                                    : Seconds{});
  const Seconds leave = gradients_wait_on_host(input) ? Seconds{} : gradients / link.rate;
  Parts parts;
  const auto add = [&parts](Seconds time, SourceKind kind) {
    parts.add(StepCategory::offload, cost::term(time, kind));
  };
  if (spec.overlap) {
    add(std::max({update, drives, back}), on_drives ? SourceKind::given : update_source(spec));
    add(std::max(Seconds{}, leave - backward), link.kind);
  } else {
    add(update, update_source(spec));
    add(drives, SourceKind::given);
    add(back + leave, link.kind);
  }
  return parts;
}

Bytes host_bytes(const StepInput& input, const HostBytes& of) {
  const OffloadSpec& spec = input.spec.offload;
  Bytes sum = of.activations;
  if (spec.optimizer == OffloadTarget::cpu) {
    sum += input.spec.precision.beside_parameters() * of.updated;
  }
  if (gradients_wait_on_host(input)) {
    sum += model::bytes_per_element(input.spec.precision.gradient) * of.updated;
  }
  if (spec.parameters == OffloadTarget::cpu) {
    sum += of.parameters;
  }
  return sum;
}

}  // namespace orrery::step
