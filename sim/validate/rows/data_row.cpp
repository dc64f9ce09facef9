#include "sim/validate/rows/data_row.hpp"

#include <algorithm>
#include <utility>

#include "sim/base/yaml/scalar.hpp"

namespace orrery::validate {

namespace {

constexpr std::string_view kRemarksFile = "row_remarks.yaml";

void add_remarks(const yaml::Value& document, Remarks& remarks) {
  for (const DataRow& row : data_rows(document, "suspicious")) {
    remarks.suspicious[row.text("id")] = row.text("reason");
  }
  for (const DataRow& row : data_rows(document, "groups")) {
    remarks.groups.push_back({row.text("group"), row.text("remark")});
  }
  for (std::string& id : DataRow(document).texts("tuned")) {
    remarks.tuned.push_back(std::move(id));
  }
  for (std::string& note : DataRow(document).texts("notes")) {
    remarks.notes.push_back(std::move(note));
  }
}

using yaml::Value;

template <typename T, typename Parse>
std::vector<T> list_of(const Value* value, Parse parse) {
  std::vector<T> list;
  if (value == nullptr || value->kind != Value::Kind::sequence) {
    return list;
  }
  for (const Value& item : value->items) {
    const auto parsed = parse(item.text);
    if (item.kind != Value::Kind::scalar || !parsed.value) {
      return {};
    }
    list.push_back(*parsed.value);
  }
  return list;
}

bool is_scalar(const Value* value) {
  return value != nullptr && value->kind == Value::Kind::scalar;
}

}  // namespace

yaml::Limits data_limits() {
  yaml::Limits limits;
  limits.max_bytes = std::size_t{256} << 20U;
  limits.max_nodes = 20'000'000;
  limits.max_pending_bytes = std::size_t{16} << 20U;
  return limits;
}

void read_remarks_beside(const std::filesystem::path& file, Remarks& remarks,
                         Diagnostics& diagnostics) {
  const std::filesystem::path path = file.parent_path() / kRemarksFile;
  if (std::ranges::find(remarks.read, path) != remarks.read.end() ||
      !std::filesystem::exists(path)) {
    return;
  }
  remarks.read.push_back(path);
  const auto document = yaml::parse_file(path, data_limits(), diagnostics);
  if (document) {
    add_remarks(*document, remarks);
  }
}

const Value* DataRow::find(std::string_view key) const {
  for (const yaml::Entry& entry : value_->entries) {
    if (entry.key == key && entry.value.kind != Value::Kind::null) {
      return &entry.value;
    }
  }
  return nullptr;
}

std::string DataRow::text(std::string_view key) const {
  const Value* value = find(key);
  return is_scalar(value) ? value->text : std::string();
}

std::optional<double> DataRow::number(std::string_view key) const {
  const Value* value = find(key);
  return is_scalar(value) ? yaml::parse_number(value->text).value : std::nullopt;
}

std::optional<std::int64_t> DataRow::integer(std::string_view key) const {
  const Value* value = find(key);
  return is_scalar(value) ? yaml::parse_count(value->text).value : std::nullopt;
}

std::optional<bool> DataRow::flag(std::string_view key) const {
  const Value* value = find(key);
  return is_scalar(value) ? yaml::parse_bool(value->text).value : std::nullopt;
}

std::vector<double> DataRow::numbers(std::string_view key) const {
  return list_of<double>(find(key), yaml::parse_number);
}

std::vector<std::int64_t> DataRow::integers(std::string_view key) const {
  return list_of<std::int64_t>(find(key), yaml::parse_count);
}

std::vector<std::string> DataRow::texts(std::string_view key) const {
  return list_of<std::string>(find(key), [](const std::string& text) {
    return yaml::Parsed<std::string>{text, {}, {}};
  });
}

DataRow DataRow::row(std::string_view key) const {
  static const Value kNothing;
  const Value* value = find(key);
  return DataRow(value == nullptr ? kNothing : *value);
}

bool DataRow::mentions(std::string_view key, std::string_view words) const {
  return text(key).find(words) != std::string::npos;
}

std::vector<DataRow> data_rows(const Value& document, std::string_view key) {
  std::vector<DataRow> rows;
  const Value* list = DataRow(document).find(key);
  if (list != nullptr && list->kind == Value::Kind::sequence) {
    for (const Value& item : list->items) {
      rows.emplace_back(item);
    }
  }
  return rows;
}

}  // namespace orrery::validate
