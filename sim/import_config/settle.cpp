// What only all files together say: the padded vocabulary, the batch, who shares the parameters,
// and what is still missing.

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sim/import_config/trees/key_fates.hpp"
#include "sim/import_config/trees/readers.hpp"

namespace orrery::import_config {

namespace {

constexpr std::int64_t kMostProduct = std::int64_t{1} << 50U;
constexpr std::int64_t kUsualGpusPerNode = 8;

// The product of positive counts; nothing when it is far beyond any job.
std::optional<std::int64_t> times(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor <= 0 || product > kMostProduct / factor) {
      return std::nullopt;
    }
    product *= factor;
  }
  return product;
}

class Settling {
 public:
  Settling(Draft& draft, Pending& pending, Diagnostics& diagnostics)
      : draft_(draft), pending_(pending), diagnostics_(diagnostics) {}

  void run() {
    settle_vocabulary();
    find_ranks();
    settle_data();
    settle_batch();
    settle_sharding();
    settle_length();
    settle_precision();
  }

 private:
  [[nodiscard]] std::int64_t degree(std::string_view name) const {
    return draft_.count(fmt::format("layout.{}", name)).value_or(1);
  }

  void settle_vocabulary() {
    if (!pending_.vocab || draft_.find("model.vocab_size") != nullptr) {
      return;  // an option or a file states the padded one
    }
    const PendingCount& vocab = *pending_.vocab;
    const auto multiple = pending_.vocab_divisor
                              ? times({pending_.vocab_divisor->value, degree("tensor")})
                              : std::nullopt;
    if (!multiple || vocab.value <= 0 || vocab.value > kMostProduct) {
      draft_.set("model.vocab_size", vocab.value, vocab.origin);
      return;
    }
    const std::int64_t padded = (vocab.value + *multiple - 1) / *multiple * *multiple;
    Origin origin = vocab.origin;
    if (padded != vocab.value) {
      const std::string how = fmt::format("{} padded to a multiple of {} x tensor {}", vocab.value,
                                          pending_.vocab_divisor->value, degree("tensor"));
      origin.kind = origin.kind == OriginKind::read ? OriginKind::derived : origin.kind;
      origin.why = origin.why.empty() ? how : origin.why + ", " + how;
    }
    draft_.set("model.vocab_size", padded, origin);
  }

  void find_ranks() {
    const auto gpus = draft_.count("cluster.gpus");
    const auto nodes = draft_.count("cluster.nodes");
    const auto& said = pending_.ranks;
    const ImportedSetting* stated = draft_.find("cluster.nodes");
    if (!gpus && nodes && *nodes > 0 && said && stated->origin.kind != OriginKind::given &&
        draft_.find("cluster.gpus_per_node") == nullptr && said->value % *nodes == 0 &&
        said->value / *nodes < kUsualGpusPerNode) {
      Origin origin = said->origin;
      origin.kind = OriginKind::derived;
      origin.why = fmt::format("{} ranks / {}", said->value, *nodes);
      draft_.set("cluster.gpus_per_node", said->value / *nodes, origin);
    }
    const auto per_node = draft_.count("cluster.gpus_per_node").value_or(kUsualGpusPerNode);
    ranks_ = gpus ? gpus : nodes ? times({*nodes, per_node}) : std::nullopt;
    if (ranks_ && pending_.ranks && *ranks_ != pending_.ranks->value) {
      diagnostics_.error(
          pending_.ranks->origin.where, pending_.ranks->origin.key,
          fmt::format("says {} ranks, but the cluster has {} GPUs", pending_.ranks->value, *ranks_),
          "--nodes with --gpus-per-node");
    }
    if (!ranks_ && pending_.ranks) {
      ranks_ = pending_.ranks->value;
      draft_.set("cluster.gpus", pending_.ranks->value, pending_.ranks->origin);
      if (*ranks_ > 0 && *ranks_ < kUsualGpusPerNode &&
          draft_.find("cluster.gpus_per_node") == nullptr) {
        Origin origin = pending_.ranks->origin;
        origin.kind = OriginKind::assumed;
        origin.why = "so few GPUs share a host";
        draft_.set("cluster.gpus_per_node", *ranks_, origin);
      }
    }
    const auto one = times({degree("tensor"), degree("context"), degree("pipeline")});
    if (ranks_ && one && *ranks_ % *one == 0) {
      data_ = *ranks_ / *one;
    }
  }

  // DeepSpeed's three figures imply the data-parallel ranks.
  void settle_data() {
    const auto micro = draft_.count("batch.micro");
    const auto global = draft_.count("batch.global");
    if (!pending_.data && pending_.accumulation && micro && global && !pending_.local_tokens) {
      const auto one = times({*micro, pending_.accumulation->value});
      if (one && *global % *one == 0 && *global >= *one) {
        pending_.data = PendingCount{
            *global / *one,
            {OriginKind::derived, pending_.accumulation->origin.where,
             pending_.accumulation->origin.key,
             fmt::format("{} / ({} x {})", *global, *micro, pending_.accumulation->value)}};
      }
    }
    if (!pending_.data) {
      return;
    }
    if (data_ && *data_ != pending_.data->value) {
      diagnostics_.error(
          pending_.data->origin.where, pending_.data->origin.key,
          fmt::format("implies {} data-parallel ranks, but {} GPUs with tensor {}, context {} and "
                      "pipeline {} have {}",
                      pending_.data->value, ranks_.value_or(0), degree("tensor"), degree("context"),
                      degree("pipeline"), *data_));
      return;
    }
    draft_.set("layout.data", pending_.data->value, pending_.data->origin);
    if (!data_) {
      data_ = pending_.data->value;
      const auto gpus = times({*data_, degree("tensor"), degree("context"), degree("pipeline")});
      draft_.note(fmt::format("the batch of the files implies {} GPUs", gpus.value_or(0)));
    }
  }

  void settle_batch() {
    const auto length = draft_.count("model.sequence_length");
    if (pending_.local_tokens && length && *length > 0) {
      const std::int64_t sequences = pending_.local_tokens->value / *length;
      Origin origin = pending_.local_tokens->origin;
      origin.kind = OriginKind::derived;
      origin.why = fmt::format("{} tokens / {}", pending_.local_tokens->value, *length);
      if (sequences > 0) {
        draft_.set("batch.micro", sequences, origin);
      }
    }
    if (pending_.step_tokens && length && *length > 0) {
      Origin origin = pending_.step_tokens->origin;
      origin.kind = OriginKind::derived;
      origin.why = fmt::format("{} tokens / {}", pending_.step_tokens->value, *length);
      draft_.set("batch.global", pending_.step_tokens->value / *length, origin);
    }
    settle_printed_batch();
    settle_device_batch();
    if (pending_.silent_log && pending_.local_batch && draft_.count("layout.pipeline") == 1) {
      draft_.set("batch.micro", pending_.local_batch->value, pending_.local_batch->origin);
    }
    settle_micro_batch();
    if (draft_.find("batch.global") != nullptr || !data_) {
      ask_for_ranks();
      return;
    }
    const auto micro = draft_.count("batch.micro");
    if (pending_.local_batch) {
      put_global(*pending_.local_batch, {pending_.local_batch->value, *data_});
    } else if (micro && (pending_.accumulation || pending_.local_tokens)) {
      const std::int64_t repeated =
          pending_.accumulation ? pending_.accumulation->value : std::int64_t{1};
      put_global(pending_.accumulation ? *pending_.accumulation : *pending_.local_tokens,
                 {*micro, repeated, *data_});
    }
  }

  // What is left for a rank where the batch and how often it is cut are stated.
  void settle_micro_batch() {
    const auto global = draft_.count("batch.global");
    if (!global || !data_ || !pending_.accumulation || draft_.find("batch.micro") != nullptr) {
      return;
    }
    const auto pieces = times({*data_, pending_.accumulation->value});
    if (pieces && *pieces > 0 && *global % *pieces == 0) {
      Origin origin = pending_.accumulation->origin;
      origin.kind = OriginKind::derived;
      origin.why = fmt::format("{} / ({} x {})", *global, *data_, pending_.accumulation->value);
      draft_.set("batch.micro", *global / *pieces, origin);
    }
  }

  // So many sequences of each rank, also of those that share a sequence.
  void settle_device_batch() {
    if (!pending_.device_batch || !ranks_ || !data_) {
      return;
    }
    const std::int64_t repeated = pending_.accumulation ? pending_.accumulation->value : 1;
    put_global(*pending_.device_batch, {pending_.device_batch->value, repeated, *ranks_});
    const auto micro = times({pending_.device_batch->value, *ranks_});
    if (micro && *micro % *data_ == 0) {
      draft_.set("batch.micro", *micro / *data_, pending_.device_batch->origin);
    }
  }

  // A log beside its settings is of the same job; the batch of a ramp grows.
  void settle_printed_batch() {
    const auto& printed = pending_.step_batch;
    if (printed && draft_.find("training.batch_ramp.samples") == nullptr) {
      draft_.set("batch.global", printed->value, printed->origin);
    }
  }

  void put_global(const PendingCount& from, std::initializer_list<std::int64_t> factors) {
    const auto global = times(factors);
    if (!global) {
      return;
    }
    Origin origin = from.origin;
    if (origin.kind == OriginKind::read) {
      origin.kind = OriginKind::derived;
    }
    std::string how;
    for (const std::int64_t factor : factors) {
      how += fmt::format("{}{}", how.empty() ? "" : " x ", factor);
    }
    origin.why += (origin.why.empty() ? "" : ", ") + how +
                  (pending_.device_batch ? " ranks" : " data-parallel ranks");
    draft_.set("batch.global", *global, origin);
  }

  // The batch follows from the number of GPUs, which is not known.
  void ask_for_ranks() {
    const auto& known = pending_.local_batch    ? pending_.local_batch
                        : pending_.device_batch ? pending_.device_batch
                                                : pending_.accumulation;
    if (draft_.find("batch.global") == nullptr && known) {
      SourceItem item;
      item.where = known->origin.where;
      item.shown = known->origin.key;
      draft_.leave_open("batch.global", item,
                        "it is per data-parallel rank: with the number of GPUs it follows");
    }
  }

  void settle_sharding() {
    if (pending_.instances && pending_.instances->value > 1 && data_) {
      if (*data_ % pending_.instances->value != 0) {
        diagnostics_.error(pending_.instances->origin.where, pending_.instances->origin.key,
                           fmt::format("{} groups do not share {} data-parallel ranks evenly",
                                       pending_.instances->value, *data_));
        return;
      }
      Origin origin = pending_.instances->origin;
      origin.kind = OriginKind::derived;
      origin.why = fmt::format("{} / {}", *data_, pending_.instances->value);
      draft_.set("layout.shard_group", *data_ / pending_.instances->value, origin);
    }
    if (!pending_.fsdp) {
      return;
    }
    const std::int64_t copies = pending_.replicate  ? pending_.replicate->value
                                : pending_.per_host ? draft_.count("cluster.nodes").value_or(1)
                                                    : 1;
    std::optional<std::int64_t> shard;
    if (pending_.shard) {
      shard = pending_.shard->value;
    } else if (data_ && copies > 0 && *data_ % copies == 0) {
      shard = *data_ / copies;
    }
    Origin origin = pending_.shard      ? pending_.shard->origin
                    : pending_.per_host ? *pending_.per_host
                                        : Origin{OriginKind::by_default,
                                                 {},
                                                 "",
                                                 "torchtitan: parameters are sharded over all "
                                                 "ranks that are left"};
    if (copies > 1 && pending_.replicate) {
      origin = pending_.replicate->origin;
    }
    if (pending_.shard && !data_) {
      draft_.set("layout.data", times({*shard, copies}).value_or(1),
                 Origin{OriginKind::derived, pending_.shard->origin.where,
                        pending_.shard->origin.key, "shard x replicate"});
    }
    if (pending_.shard && data_ && times({*shard, copies}) != data_) {
      diagnostics_.error(pending_.shard->origin.where, pending_.shard->origin.key,
                         fmt::format("{} x {} copies are not the {} data-parallel ranks of the job",
                                     *shard, copies, *data_));
    }
    // The ranks of a context group share the parameters, too.
    const std::int64_t group = shard.value_or(1) * draft_.count("layout.context").value_or(1);
    const bool sharded = !shard || group > 1;
    draft_.set("layout.sharding", !sharded ? "none" : copies > 1 ? "hsdp" : "zero3", origin);
    if (sharded && copies > 1 && shard) {
      draft_.set("layout.shard_group", group, origin);
    }
    if (!sharded) {
      draft_.erase("overlap.fsdp.quantized_weights");
    }
  }

  void settle_length() {
    const auto length = draft_.count("model.sequence_length");
    if (!pending_.samples || !length || draft_.find("training.steps") != nullptr) {
      return;
    }
    if (const auto tokens = times({pending_.samples->value, *length})) {
      Origin origin = pending_.samples->origin;
      origin.kind = OriginKind::derived;
      origin.why = fmt::format("{} sequences of {} tokens", pending_.samples->value, *length);
      draft_.set("training.tokens", *tokens, origin);
    }
  }

  void settle_precision() {
    // How a model's weights are kept does not count where a program says, or leaves open, in what
    // it computes.
    const ImportedSetting* known = draft_.find("precision.compute");
    const bool open = draft_.open("precision.compute") != nullptr;
    if (known != nullptr && known->origin.kind == OriginKind::assumed &&
        (open || pending_.full_precision)) {
      draft_.erase("precision.compute");
    } else if (known != nullptr) {
      return;
    }
    if (open) {
      return;
    }
    if (pending_.full_precision && !pending_.no_short_type) {
      draft_.leave_open("precision.compute", SourceItem{},
                        "without bf16, fp16 or fp8 the program trains in fp32: fp32 if it does");
      return;
    }
    if (pending_.full_precision) {
      draft_.set("precision.compute", pending_.tf32 ? "tf32" : "fp32",
                 assumed_as("without bf16, fp16 or fp8 the program trains in fp32"));
      return;
    }
    if (!pending_.silent_log) {
      draft_.set("precision.compute", "bf16", assumed_as("no file states a precision"));
    }
  }

  Draft& draft_;
  Pending& pending_;
  Diagnostics& diagnostics_;
  std::optional<std::int64_t> ranks_;
  std::optional<std::int64_t> data_;
};

}  // namespace

void settle(Draft& draft, Pending& pending, Diagnostics& diagnostics) {
  Settling(draft, pending, diagnostics).run();
}

namespace {

// A key that every scenario needs, what it is, and the option that states it.
struct Needed {
  std::string_view path;
  std::string_view what;
  std::string_view option;
};

constexpr std::array<Needed, 10> kNeeded = {
    {{"model.num_layers", "transformer layers", ""},
     {"model.hidden_size", "width of the model", ""},
     {"model.num_attention_heads", "query heads", ""},
     {"model.vocab_size", "rows of the embedding table, padding included", ""},
     {"model.sequence_length", "tokens of one sequence in training", ""},
     {"cluster.gpu", "the GPUs (orrery list gpus)", "--gpu NAME"},
     {"cluster.nodes", "hosts that the job runs on", "--nodes N"},
     {"cluster.network", "the network between hosts (orrery list networks)", "--network NAME"},
     {"batch.global", "sequences of one optimizer step", ""},
     {"precision.compute", "the precision: bf16, fp16, fp8-delayed, ...", ""}}};

// The network that GPUs usually have; empty where none is usual.
std::string_view usual_network(std::string_view gpu) {
  struct Usual {
    std::string_view gpus;  // how the names of the profiles begin
    std::string_view network;
  };

  static constexpr std::array<Usual, 6> kUsual = {
      {{"h100-sxm h200-sxm h800-sxm h20-sxm b200-sxm b300-sxm", "infiniband-400g"},
       {"a100-sxm a800-sxm", "infiniband-200g"},
       {"gb200 gb300", "nvl72"},
       {"mi3", "roce-8x400g"},
       {"gaudi2", "gaudi2-roce"},
       {"gaudi3", "gaudi3-roce"}}};
  for (auto [gpus, network] : kUsual) {
    while (!gpus.empty()) {
      if (gpu.starts_with(cut(gpus, ' '))) {
        return network;
      }
    }
  }
  return {};
}

bool is_known(const Draft& draft, std::string_view path) {
  if (draft.find(path) != nullptr) {
    return true;
  }
  if (path == "cluster.nodes") {
    return draft.find("cluster.gpus") != nullptr;
  }
  if (path == "cluster.network") {
    const auto nodes = draft.count("cluster.nodes");
    const auto gpus = draft.count("cluster.gpus");
    constexpr std::int64_t kOfOneNode = 8;
    const bool single =
        (nodes && *nodes == 1) ||
        (gpus && *gpus <= draft.count("cluster.gpus_per_node").value_or(kOfOneNode));
    return single || draft.find("cluster.network.preset") != nullptr ||
           draft.find("cluster.network.nic_rate") != nullptr;
  }
  return draft.find("model.preset") != nullptr && path.starts_with("model.");
}

AskedKey question(const Draft& draft, std::string_view path, std::string_view what,
                  std::string_view option = {}) {
  const OpenKey* open = draft.open(path);
  std::string why;
  if (open != nullptr) {
    why = open->where.file.empty()
              ? open->why
              : fmt::format("{}:{} {}{}{}", open->where.file, open->where.line, open->key,
                            open->key.empty() ? "" : ": ", open->why);
  }
  return {std::string(path), std::string(what),
          option.empty() ? fmt::format("--set {}=VALUE", path) : std::string(option),
          std::move(why)};
}

}  // namespace

std::vector<AskedKey> missing_keys(const Draft& draft) {
  std::vector<AskedKey> asked;
  for (const Needed& needed : kNeeded) {
    if (!is_known(draft, needed.path)) {
      asked.push_back(question(draft, needed.path, needed.what, needed.option));
    }
  }
  if (draft.find("model.moe.num_experts") != nullptr) {
    for (const std::string_view path : {"model.moe.top_k", "model.moe.ffn_hidden_size"}) {
      if (!is_known(draft, path)) {
        asked.push_back(question(draft, path, "for a mixture of experts"));
      }
    }
  }
  for (const auto& entry : draft.open_keys()) {
    const std::string& path = entry.first;
    const bool is_asked = std::any_of(asked.begin(), asked.end(),
                                      [&](const AskedKey& key) { return key.path == path; });
    const bool form = path == "recompute" && draft.find("recompute.layers") != nullptr;
    if (!is_asked && !form && draft.find(path) == nullptr) {
      asked.push_back(question(draft, path,
                               entry.second.key.empty()
                                   ? "not in the log"
                                   : "a file has it in a form that cannot be read"));
    }
  }
  return asked;
}

void assume_network(Draft& draft) {
  const ImportedSetting* gpu = draft.find("cluster.gpu");
  const std::string_view network = gpu == nullptr ? "" : usual_network(gpu->value);
  if (!network.empty() && is_known(draft, "cluster.nodes") && !is_known(draft, "cluster.network")) {
    draft.set("cluster.network.preset", std::string(network),
              assumed_as("the usual network of these GPUs; --network NAME states another"));
  }
}

}  // namespace orrery::import_config
