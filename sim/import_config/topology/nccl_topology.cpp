// NCCL's topology of one node (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE): its GPUs and NICs.
//
// The XML is that of NCCL's own reader (src/graph/xml.cc): elements and attributes, no text. Keys
// are `element.attribute`; what all elements have alike is one value, else a list in their order.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/base/text/text.hpp"
#include "sim/base/yaml/text_check.hpp"
#include "sim/import_config/trees/readers.hpp"
#include "sim/import_config/trees/source_keys.hpp"

namespace orrery::import_config {

namespace {

using yaml::Value;
using Attributes = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view kXmlBlanks = " \t\r\n";

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& file, Diagnostics& diagnostics)
      : text_(text), lines_(text), file_(file), diagnostics_(diagnostics) {}

  std::optional<Value> read() {
    while ((at_ = text_.find('<', at_)) != std::string_view::npos) {
      if (text_.substr(at_).starts_with("<!--")) {
        skip_behind("-->");
      } else if (text_.substr(at_).starts_with("<?")) {
        skip_behind("?>");
      } else if (text_.substr(at_).starts_with("</")) {
        close();
      } else {
        open();
      }
      if (diagnostics_.has_errors()) {
        return std::nullopt;
      }
    }
    if (!open_.empty()) {
      at_ = text_.size();
      fail(fmt::format("{} is not closed: the file is cut off", yaml::display(open_.back().first)));
      return std::nullopt;
    }
    return tree();
  }

 private:
  void fail(const std::string& message) {
    diagnostics_.error(lines_.location_of(file_, std::min(at_, text_.size())), "", message);
  }

  void skip_behind(std::string_view end) {
    const std::size_t found = text_.find(end, at_);
    if (found == std::string_view::npos) {
      fail("is not closed");
    }
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }

  std::string_view word() {
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n=/<>\"", at_), text_.size());
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = end;
    return found;
  }

  void blanks() { at_ = std::min(text_.find_first_not_of(kXmlBlanks, at_), text_.size()); }

  bool takes(std::string_view sign) {
    const bool there = text_.substr(at_).starts_with(sign);
    at_ += there ? sign.size() : 0;
    return there;
  }

  void close() {
    at_ += 2;
    const std::string_view name = word();
    blanks();
    if (open_.empty() || open_.back().first != name || !takes(">")) {
      fail(fmt::format("{} is closed here, but not open", yaml::display(name)));
      return;
    }
    open_.pop_back();
  }

  void open() {
    const std::size_t begin = at_++;
    const std::string name(word());
    Attributes attributes;
    for (blanks(); !takes(">"); blanks()) {
      if (takes("/>")) {
        take(name, attributes, begin);
        return;
      }
      const std::string key(word());
      const std::size_t end = takes("=\"") ? text_.find('"', at_) : std::string_view::npos;
      if (key.empty() || key.size() > kLongestKey || end == std::string_view::npos) {
        fail(fmt::format("{} has an attribute that is no NAME=\"VALUE\"", yaml::display(name)));
        return;
      }
      attributes[key] = std::string(text_.substr(at_, end - at_));
      at_ = end + 1;
    }
    if (open_.size() == kMostLevels) {
      fail("has more levels than a node has");
      return;
    }
    take(name, attributes, begin);
    open_.emplace_back(name, std::move(attributes));
  }

  void take(const std::string& name, const Attributes& attributes, std::size_t begin) {
    for (const auto& [key, value] : attributes) {
      add(name, key, value, begin);
    }
    if (name == "nic" && !open_.empty()) {  // what is plugged in says which fabric it is
      for (const std::string_view key : {"class", "vendor"}) {
        if (const auto of_card = open_.back().second.find(key);
            of_card != open_.back().second.end()) {
          add(name, key, of_card->second, begin);
        }
      }
    }
  }

  void add(const std::string& element, std::string_view key, const std::string& text,
           std::size_t begin) {
    if (++values_ > kMostValues) {
      fail("has more values than a node has");
      return;
    }
    Value value;
    value.kind = Value::Kind::scalar;
    value.text = text;
    value.where = lines_.location_of(file_, begin);
    keys_[element][std::string(key)].push_back(std::move(value));
  }

  Value tree() {
    Value tree;
    tree.kind = Value::Kind::mapping;
    tree.where = {file_, 1, 1};
    for (auto& [element, attributes] : keys_) {
      Value section;
      section.kind = Value::Kind::mapping;
      for (auto& [key, values] : attributes) {
        Value all;
        all.where = values.front().where;
        const std::string first = values.front().text;
        const bool alike = std::all_of(values.begin(), values.end(),
                                       [&first](const Value& one) { return one.text == first; });
        if (alike && key != "speed") {
          values.resize(1);
        }
        all.kind = Value::Kind::sequence;
        all.items = std::move(values);
        const SourceLocation where = all.where;
        section.entries.push_back({key, where, std::move(all)});
      }
      section.where = section.entries.front().key_where;
      tree.entries.push_back({element, section.where, std::move(section)});
    }
    return tree;
  }

  std::string_view text_;
  yaml::LineIndex lines_;
  const std::string& file_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
  std::size_t values_ = 0;
  std::vector<std::pair<std::string, Attributes>> open_;
  std::map<std::string, std::map<std::string, std::vector<Value>>> keys_;
};

// How many hosts the file joins (NVLink over several: MNNVL).
std::int64_t hosts(Import& import) {
  const std::vector<std::string> all = import.keys.texts("cpu.host_hash");
  return std::max<std::int64_t>(
      static_cast<std::int64_t>(std::set<std::string>(all.begin(), all.end()).size()), 1);
}

void read_gpus(Import& import, std::int64_t hosts) {
  const auto gpus = static_cast<std::int64_t>(import.keys.texts("gpu.dev").size());
  if (gpus == 0) {
    return;
  }
  import.derive("cluster.gpus_per_node", gpus / hosts, "gpu.dev", "<gpu> of one host");
  if (hosts > 1) {
    import.derive("cluster.network.nvlink_domain", gpus, "gpu.dev",
                  fmt::format("{} hosts on one NVLink", hosts));
  } else if (import.keys.find("nvlink.count") == nullptr &&
             import.keys.find("xgmi.count") == nullptr) {
    import.derive("cluster.network.nvlink_domain", std::int64_t{1}, "gpu.dev", "no <nvlink>");
  }
}

// NICs of the highest rate: a slower one beside them is not for training.
void read_nics(Import& import, std::int64_t hosts) {
  std::int64_t fastest = 0;
  std::int64_t count = 0;
  const std::vector<std::string> speeds = import.keys.texts("net.speed");
  for (const std::string& text : speeds) {
    const auto speed = whole_number(text);
    if (!speed || *speed < 1) {
      import.keys.error(*import.keys.find("net.speed"),
                        fmt::format("{} is no rate in Mbit/s", yaml::display(text)));
      return;
    }
    count = *speed > fastest ? 0 : count;
    fastest = std::max(fastest, *speed);
    count += *speed == fastest ? 1 : 0;
  }
  if (count == 0) {
    return;
  }
  constexpr std::int64_t kPerGigabit = 1000;
  const bool whole = fastest % kPerGigabit == 0;
  import.derive(
      "cluster.network.nic_rate",
      whole ? fmt::format("{}Gbps", fastest / kPerGigabit) : fmt::format("{}Mbps", fastest),
      "net.speed", "Mbit/s");
  import.derive("cluster.network.nics_per_node", std::max<std::int64_t>(count / hosts, 1),
                "net.speed",
                count == static_cast<std::int64_t>(speeds.size())
                    ? std::string("<net> of one host")
                    : fmt::format("those of {} Mbit/s; {} slower ones are left out", fastest,
                                  static_cast<std::int64_t>(speeds.size()) - count));
}

// By what is plugged in: PCI class 0x0207 is InfiniBand, 0x0200 Ethernet; Amazon's is EFA.
void read_fabric(Import& import) {
  const std::vector<std::string> classes = import.keys.texts("nic.class");
  const std::vector<std::string> vendors = import.keys.texts("nic.vendor");
  if (import.keys.find("net.speed") == nullptr || classes.empty()) {
    return;
  }
  const bool amazon = std::find(vendors.begin(), vendors.end(), "0x1d0f") != vendors.end();
  const bool infiniband = std::any_of(classes.begin(), classes.end(),
                                      [](const auto& one) { return one.starts_with("0x0207"); });
  import.derive("cluster.network.fabric",
                amazon       ? "efa"
                : infiniband ? "infiniband"
                             : "roce",
                amazon ? "nic.vendor" : "nic.class",
                amazon       ? "Amazon's card"
                : infiniband ? "an InfiniBand card"
                             : "an Ethernet card");
}

}  // namespace

std::optional<Value> parse_nccl_topology(std::string_view text, const std::string& file,
                                         Diagnostics& diagnostics) {
  return XmlReader(text, file, diagnostics).read();
}

void read_nccl_topology(Import& import) {
  const std::int64_t of_hosts = hosts(import);
  read_gpus(import, of_hosts);
  read_nics(import, of_hosts);
  read_fabric(import);
}

}  // namespace orrery::import_config
