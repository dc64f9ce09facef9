#pragma once

// What is known of a scenario so far, each key with the file that it comes from, and what is still
// missing. Internal to import_config/.
//
// Of two values for one key the better founded one stays: given, then read and derived, then what a
// program does by default, then assumptions. Two values of the same rank that differ are an error
// that names both places.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.hpp"
#include "sim/import_config/imported.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

// A key whose value a file has, but not in a form that can be read.
struct OpenKey {
  std::string path;
  SourceLocation where;
  std::string key;
  std::string why;
};

// The profile that stands for programs without one of their own.
inline constexpr std::string_view kNoStack = "generic";

class Draft {
 public:
  explicit Draft(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void set(std::string_view path, std::string value, Origin origin);

  void set(std::string_view path, std::int64_t value, Origin origin) {
    set(path, std::to_string(value), std::move(origin));
  }

  void set(std::string_view path, bool value, Origin origin) {
    set(path, std::string(value ? "true" : "false"), std::move(origin));
  }

  void set(std::string_view path, const char* value, Origin origin) {
    set(path, std::string(value), std::move(origin));
  }

  // The stack that is configured; its files say themselves what is switched on, unless it stands
  // for a program without a profile.
  void set_stack(std::string_view name);

  void erase(std::string_view path);

  // A file has the key, but its value cannot be read.
  void leave_open(std::string_view path, const SourceItem& item, std::string why);

  [[nodiscard]] const ImportedSetting* find(std::string_view path) const;
  [[nodiscard]] std::optional<std::int64_t> count(std::string_view path) const;
  [[nodiscard]] bool is(std::string_view path, std::string_view value) const;
  [[nodiscard]] const OpenKey* open(std::string_view path) const;

  void note(std::string sentence);
  // Whether a key begins with `prefix`.
  [[nodiscard]] bool has_below(std::string_view prefix) const;

  [[nodiscard]] const std::map<std::string, ImportedSetting, std::less<>>& settings() const {
    return settings_;
  }

  [[nodiscard]] const std::map<std::string, OpenKey, std::less<>>& open_keys() const {
    return open_;
  }

  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  Diagnostics& diagnostics_;
  std::map<std::string, ImportedSetting, std::less<>> settings_;
  std::map<std::string, OpenKey, std::less<>> open_;
  std::vector<std::string> notes_;
};

// A count that a file states, kept until all files are read.
struct PendingCount {
  std::int64_t value = 0;
  Origin origin;
};

// Parameters that a log counts: of the model, of what one rank holds of it, or as its program works
// them out (log_programs.hpp).
enum class CountOf { model, rank, formula, embeddings, fullest_rank };

struct PrintedCount {
  std::int64_t value = 0;
  double rounding = 0.0;  // by which it may be wrong, as a share
  CountOf what = CountOf::model;
  Origin origin;
};

// A GPU as a log describes it: by its name, or by its memory, which is known but for `slack`.
struct PrintedCard {
  std::string name;
  double gib = 0.0;
  double slack = 0.0;
  Origin origin;
};

// What only becomes a key of the scenario when all files are read: it needs other keys.
struct Pending {
  std::optional<PendingCount> vocab;          // before padding
  std::optional<PendingCount> vocab_divisor;  // padded to a multiple of this x tensor
  std::optional<PendingCount> ranks;          // of the whole job
  std::optional<PendingCount> data;           // data-parallel ranks that a file states
  std::optional<PendingCount> shard;          // FSDP: ranks that share the parameters
  std::optional<PendingCount> replicate;      // FSDP: copies of the shard group
  std::optional<PendingCount> local_batch;    // sequences per data-parallel rank and step
  std::optional<PendingCount> local_tokens;   // tokens per data-parallel rank and micro-batch
  std::optional<PendingCount> device_batch;   // sequences per rank and micro-batch
  std::optional<PendingCount> step_tokens;    // tokens of one step
  std::optional<PendingCount> accumulation;   // micro-batches per step of one rank
  std::optional<PendingCount> samples;        // sequences of the whole run
  std::optional<PendingCount> instances;      // groups that each hold the optimizer's state
  std::optional<PendingCount> trainable;      // parameters that are trained
  std::optional<PendingCount> step_batch;     // sequences of a step, as a log prints them beside it
  std::vector<PrintedCount> printed;          // to be compared with the model
  bool older_formula = false;                 // by which Megatron-LM counted experts before 2025
  std::vector<PrintedCard> cards;             // to be compared with the GPU
  std::optional<SourceItem> task;             // that a log tells, other than to continue texts
  bool silent_log = false;                    // no file holds the settings of its run
  bool fsdp = false;                          // shard and replicate say the sharding
  std::optional<Origin>
      per_host;                 // who says that the ranks of a host share them, hosts hold copies
  bool full_precision = false;  // the program trains in fp32 unless told otherwise
  bool no_short_type = false;   // a file says so, which is not silent about it
  bool tf32 = false;            // which its products round to tf32
};

struct Import;

[[nodiscard]] Origin read_from(const SourceItem& item);
[[nodiscard]] Origin derived_from(const SourceItem& item, std::string why);
[[nodiscard]] Origin default_of(const Import& import, std::string why);
[[nodiscard]] Origin assumed_as(std::string why);

// One reading of the files of one format.
struct Import {
  SourceKeys& keys;
  Draft& draft;
  Pending& pending;
  std::vector<LeftOutKey>& left_out;
  Diagnostics& diagnostics;
  std::string program;      // whose defaults hold: "Megatron-LM"
  std::string model_class;  // ImportOptions::model_class

  [[nodiscard]] bool on(std::string_view path) { return keys.flag(path).value_or(false); }

  // As the key of the files at `path` says.
  template <typename T>
  void set(std::string_view target, T value, std::string_view path) {
    draft.set(target, std::move(value), read_from(*keys.find(path)));
  }

  // As it follows from that key.
  template <typename T>
  void derive(std::string_view target, T value, std::string_view path, std::string why) {
    draft.set(target, std::move(value), derived_from(*keys.find(path), std::move(why)));
  }

  // By default of the program.
  template <typename T>
  void usual(std::string_view target, T value, std::string why) {
    draft.set(target, std::move(value), default_of(*this, std::move(why)));
  }

  // The key at `path` states a word for which a scenario has none.
  void leave_unknown(std::string_view target, std::string_view path);

  // Where the flag at `path` is on.
  template <typename T>
  bool set_if(std::string_view path, std::string_view target, T value) {
    const bool is_on = on(path);
    if (is_on) {
      set(target, std::move(value), path);
    }
    return is_on;
  }
};

// Copies a count or a flag under the key of the scenario; an unread value leaves the key
// open. The value that was read, if any.
std::optional<std::int64_t> copy_count(Import& import, std::string_view source,
                                       std::string_view target);
std::optional<bool> copy_flag(Import& import, std::string_view source, std::string_view target);

// A count that waits in `slot`; an unread value leaves `target` open.
void keep_count(Import& import, std::string_view source, std::optional<PendingCount>& slot,
                std::string_view target);

// Copies every count that the key table of scenarios knows in `section` under the name that stands
// behind `prefix` (with its dot) in the files: num_hidden_layers is an alias of model.num_layers.
void copy_known_counts(Import& import, std::string_view prefix, std::string_view section);

// Layers without experts; those between others are counted as if they led.
void put_dense_layers(Draft& draft, const Origin& origin, std::int64_t dense, bool leading);

// Shared experts by their width, which must be a multiple of that of the routed ones.
void put_shared_experts(Import& import, std::string_view source);

// Of the groups of experts a token may choose so many, each of them on a node of its own.
void put_node_limit(Draft& draft, const SourceItem* source, std::optional<std::int64_t> chosen,
                    std::optional<std::int64_t> groups);

// The first of several names that the files state; of none the first.
[[nodiscard]] std::string_view first_of(const Import& import,
                                        std::initializer_list<std::string_view> names);

// Marks a key as one that does, or may, change the cost, with the reason; `states` is the key of
// the scenario by which the user may say it.
void leave_out(Import& import, std::string_view path, Effect effect, std::string why,
               std::string_view states = {});

}  // namespace orrery::import_config
