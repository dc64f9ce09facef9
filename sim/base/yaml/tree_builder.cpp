#include "sim/base/yaml/tree_builder.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace orrery::yaml {

namespace {

constexpr std::string_view kMergeKey = "<<";
constexpr std::string_view kStandardTags = "tag:yaml.org,2002:";  // written !! in a file

}  // namespace

TreeBuilder::TreeBuilder(std::string_view text, std::string file, const LineIndex& lines,
                         const Limits& limits, bool foreign, Diagnostics& diagnostics)
    : text_(text),
      file_(std::move(file)),
      lines_(lines),
      limits_(limits),
      foreign_(foreign),
      diagnostics_(diagnostics) {}

SourceLocation TreeBuilder::locate(Mark mark) const {
  return lines_.location(file_, mark.line, mark.column);
}

bool TreeBuilder::is_indented_by_tab(Mark mark) const {
  const std::string_view line = text_.substr(lines_.offset(mark.line, 0));
  return line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string_view::npos;
}

void TreeBuilder::problem(const SourceLocation& where, std::string_view path,
                          std::string_view message, std::string_view allowed) {
  diagnostics_.error(where, path, message, allowed);
  if (diagnostics_.all().size() >= limits_.max_problems) {
    diagnostics_.error(where, {}, "too many problems, reading stops here");
    throw StopReading{};
  }
}

void TreeBuilder::stop(const SourceLocation& where, std::string_view message,
                       std::string_view allowed) {
  diagnostics_.error(where, path(), message, allowed);
  throw StopReading{};
}

std::string TreeBuilder::path() const {
  std::string path;
  for (const Frame& frame : frames_) {
    if (frame.value.kind == Value::Kind::sequence) {
      path += fmt::format("[{}]", frame.value.items.size());
    } else if (frame.key) {
      path += (path.empty() ? "" : ".") + *frame.key;
    }
  }
  return path;
}

std::string TreeBuilder::path_to(std::string_view key) const {
  std::string path = this->path();
  if (!path.empty()) {
    path += '.';
  }
  return path.append(key);
}

bool TreeBuilder::wants_key() const {
  return !frames_.empty() && frames_.back().value.kind == Value::Kind::mapping &&
         !frames_.back().key;
}

void TreeBuilder::refuse_key(const SourceLocation& where) {
  stop(where, "a key must be plain text", "write `key: value`; put special words in quotes");
}

void TreeBuilder::refuse_tag(std::string_view tag, const SourceLocation& where) {
  if (!tag.empty()) {
    const std::string written = tag.starts_with(kStandardTags)
                                    ? "!!" + std::string(tag.substr(kStandardTags.size()))
                                    : std::string(tag);
    problem(where, path(), fmt::format("tag {} is not accepted", display(written)),
            "remove it; the key decides the type");
  }
}

void TreeBuilder::begin_document(Mark mark) {
  if (++documents_ > 1) {
    stop(locate(mark), "a second document, or text after the end of the first", "one per file");
  }
}

void TreeBuilder::count_nodes(std::size_t nodes, const SourceLocation& where) {
  nodes_ += nodes;
  if (nodes_ > limits_.max_nodes) {
    stop(where, "too many values", fmt::format("at most {} in a file", limits_.max_nodes));
  }
}

void TreeBuilder::count_alias(const Weight& weight, const SourceLocation& where) {
  alias_nodes_ += weight.nodes;
  alias_bytes_ += weight.bytes;
  if (alias_nodes_ > limits_.max_alias_nodes || alias_bytes_ > limits_.max_alias_bytes) {
    stop(where, "anchors and aliases expand to too much",
         fmt::format("at most {} values and {} bytes of text in a file", limits_.max_alias_nodes,
                     limits_.max_alias_bytes));
  }
}

void TreeBuilder::take_key(std::string text, bool quoted, const SourceLocation& where) {
  if (text.size() > limits_.max_key_bytes) {
    stop(where, fmt::format("a key of {} bytes", text.size()),
         fmt::format("at most {}", limits_.max_key_bytes));
  }
  if (text.empty()) {
    refuse_key(where);
  }
  if (std::ranges::any_of(text, is_control)) {
    stop(where, fmt::format("key {} holds a control character", display(text)), "plain text");
  }
  if (!quoted && text == kMergeKey && !foreign_) {
    problem(where, path_to(text), "merge keys are not accepted",
            "write the keys out, or use an alias for the whole value");
  }
  frames_.back().weight.bytes += text.size();
  frames_.back().key = std::move(text);
  frames_.back().key_where = where;
}

bool TreeBuilder::null_is_written(Mark mark) const {
  const std::string_view rest = text_.substr(lines_.offset(mark.line, mark.column));
  return rest.starts_with('~') || rest.starts_with("null") || rest.starts_with("Null") ||
         rest.starts_with("NULL");
}

void TreeBuilder::null(Mark mark, std::size_t anchor) {
  SourceLocation where = locate(mark);
  if (wants_key()) {
    refuse_key(where);
  }
  // The parser places a value that is left out at the next token; its key is the better place.
  if (!frames_.empty() && !null_is_written(mark)) {
    where = frames_.back().key ? frames_.back().key_where : frames_.back().value.where;
  }
  count_nodes(1, where);
  Value value;
  value.where = std::move(where);
  complete(std::move(value), Weight{}, anchor);
}

void TreeBuilder::alias(Mark mark, std::size_t anchor) {
  const SourceLocation where = locate(mark);
  if (wants_key()) {
    refuse_key(where);
  }
  const auto found = anchors_.find(anchor);
  if (found == anchors_.end()) {
    stop(where, "an alias of the value it stands in", "an anchor that is complete before it");
  }
  const Weight weight = found->second.weight;
  count_alias(weight, where);
  count_nodes(weight.nodes, where);
  if (static_cast<int>(frames_.size()) + weight.height > limits_.max_depth) {
    stop(where, "nested too deeply once the alias is expanded",
         fmt::format("at most {} levels", limits_.max_depth));
  }
  complete(found->second.value, weight, 0);
}

void TreeBuilder::scalar(Mark mark, std::string_view tag, bool quoted, std::size_t anchor,
                         std::string text) {
  const SourceLocation where = locate(mark);
  refuse_tag(tag, where);
  const Weight weight{1, text.size(), 0};
  count_nodes(1, where);
  Value value;
  value.kind = Value::Kind::scalar;
  value.quoted = quoted;
  value.where = where;
  if (!wants_key()) {
    value.text = std::move(text);
    complete(std::move(value), weight, anchor);
    return;
  }
  if (anchor != 0) {
    count_alias(weight, where);
    value.text = text;
    anchors_.insert_or_assign(anchor, Anchored{std::move(value), weight});
  }
  take_key(std::move(text), quoted, where);
}

void TreeBuilder::begin_collection(Value::Kind kind, Mark mark, std::string_view tag,
                                   std::size_t anchor) {
  SourceLocation where = locate(mark);
  refuse_tag(tag, where);
  count_nodes(1, where);
  // Of `[[`, the parser makes a list with a mapping whose key is a list, until the bracket is
  // closed: two frames for one level.
  const bool list_as_key = wants_key() && kind == Value::Kind::sequence;
  if (!list_as_key && static_cast<int>(frames_.size() - lists_as_keys_) >= limits_.max_depth) {
    stop(where, "nested too deeply", fmt::format("at most {} levels", limits_.max_depth));
  }
  lists_as_keys_ += list_as_key ? 1 : 0;
  Frame frame;
  frame.value.kind = kind;
  frame.value.where = std::move(where);
  frame.anchor = anchor;
  frame.stands_as_key = wants_key();
  frames_.push_back(std::move(frame));
}

void TreeBuilder::begin_sequence(Mark mark, std::string_view tag, std::size_t anchor) {
  begin_collection(Value::Kind::sequence, mark, tag, anchor);
}

void TreeBuilder::begin_mapping(Mark mark, std::string_view tag, std::size_t anchor) {
  begin_collection(Value::Kind::mapping, mark, tag, anchor);
}

void TreeBuilder::end_sequence() { end_collection(); }

void TreeBuilder::end_mapping() {
  if (foreign_) {
    merge(frames_.back().value);
  }
  report_duplicates(frames_.back().value);
  end_collection();
}

// What the mapping itself has counts, then the first of those that it merges.
void TreeBuilder::merge(Value& mapping) {
  std::vector<Entry> all = std::exchange(mapping.entries, {});
  const auto own = std::stable_partition(all.begin(), all.end(),
                                         [](const Entry& entry) { return entry.key != kMergeKey; });
  std::set<std::string, std::less<>> known;
  for (auto entry = all.begin(); entry != own; ++entry) {
    known.insert(entry->key);
    mapping.entries.push_back(std::move(*entry));
  }
  for (auto merged = own; merged != all.end(); ++merged) {
    std::vector<Value> parts = merged->value.items;
    if (parts.empty()) {
      parts.push_back(std::move(merged->value));
    }
    for (Value& part : parts) {
      if (part.kind != Value::Kind::mapping) {
        problem(merged->key_where, path_to(merged->key), "merges what is no mapping", "*alias");
      }
      for (Entry& entry : part.entries) {
        if (known.insert(entry.key).second) {
          mapping.entries.push_back(std::move(entry));
        }
      }
    }
  }
}

void TreeBuilder::end_collection() {
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  // Refused at its end only: an unclosed bracket looks like a key too, and has a better message.
  if (frame.stands_as_key) {
    refuse_key(frame.value.where);
  }
  frame.weight.height += 1;
  complete(std::move(frame.value), frame.weight, frame.anchor);
}

void TreeBuilder::report_duplicates(const Value& mapping) {
  const std::vector<Entry>& entries = mapping.entries;
  std::vector<std::size_t> order(entries.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const int compared = entries[a].key.compare(entries[b].key);
    return compared < 0 || (compared == 0 && a < b);
  });
  std::size_t first = 0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    const Entry& entry = entries[order[i]];
    const Entry& original = entries[order[first]];
    if (entry.key != original.key) {
      first = i;
      continue;
    }
    if (foreign_ && entry.value.kind == Value::Kind::scalar &&
        original.value.kind == Value::Kind::scalar && entry.value.text == original.value.text) {
      continue;
    }
    problem(entry.key_where, path_to(entry.key),
            fmt::format("duplicate key, first given in line {}", original.key_where.line),
            "give it once");
  }
}

void TreeBuilder::complete(Value value, Weight weight, std::size_t anchor) {
  if (anchor != 0) {
    count_alias(weight, value.where);
    anchors_.insert_or_assign(anchor, Anchored{value, weight});
  }
  if (frames_.empty()) {
    root_ = std::move(value);
    return;
  }
  Frame& parent = frames_.back();
  parent.weight.nodes += weight.nodes;
  parent.weight.bytes += weight.bytes;
  parent.weight.height = std::max(parent.weight.height, weight.height);
  if (parent.value.kind == Value::Kind::sequence) {
    parent.value.items.push_back(std::move(value));
    return;
  }
  parent.value.entries.push_back(
      {std::move(*parent.key), std::move(parent.key_where), std::move(value)});
  parent.key.reset();
}

std::optional<Value> TreeBuilder::take_root() { return std::exchange(root_, std::nullopt); }

}  // namespace orrery::yaml
