#include "sim/validate/rows/remarks.hpp"

#include <algorithm>
#include <utility>

#include "sim/validate/rows/data_row.hpp"

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
  if (std::find(remarks.read.begin(), remarks.read.end(), path) != remarks.read.end() ||
      !std::filesystem::exists(path)) {
    return;
  }
  remarks.read.push_back(path);
  const auto document = yaml::parse_file(path, data_limits(), diagnostics);
  if (document) {
    add_remarks(*document, remarks);
  }
}

}  // namespace orrery::validate
