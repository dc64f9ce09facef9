// Rows of fabric-cases/1: published measurements of traffic that meets, beside what max-min sharing
// gives for the same links and flows (docs/fabric.md).
//
// kind   | keys                                 | predicted, in the unit of the row
// -------|--------------------------------------|------------------------------------------------
// rates  | links, flows, of, ratio_to           | rate of one flow `of`; over that of `ratio_to`
// hashed | flows, links, paths, of, against,    | fullest: load of the fullest of `links` uplinks
//        | scale                                | over the mean; speed: 1 / that; mean over seeds
// phases | jobs, compute, send, of              | period: of jobs that begin together, over one
//        |                                      | alone; gain: over the same jobs evenly apart
//
// Rates are in Gb/s, or in whatever unit links and bounds share. Links that a flow crosses are a
// list, or a mapping of link to weight; `count` flows are alike. `against` holds keys of a second
// hashed case: the row is then the ratio of the two.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/step/fabric/fluid_flows.hpp"
#include "sim/step/fabric/topology.hpp"
#include "sim/validate/data_sets.hpp"
#include "sim/validate/rows/data_row.hpp"

namespace orrery::validate {

namespace {

using Answer = std::variant<double, std::string>;  // or why there is none

Answer rate_of(const DataRow& row) {
  std::map<std::string, fabric::LinkId> ids;
  std::vector<BytesPerSecond> capacities;
  for (const yaml::Entry& link : row.row("links").value().entries) {
    const auto rate = row.row("links").number(link.key);
    if (!rate || *rate <= 0.0) {
      return fmt::format("link {} has no rate", link.key);
    }
    ids.emplace(link.key, fabric::LinkId{static_cast<std::int32_t>(capacities.size())});
    capacities.push_back(bytes_per_second(*rate));
  }
  fabric::FluidFlows flows(capacities);
  std::map<std::string, fabric::FlowId> named;
  for (const DataRow& flow : data_rows(row.value(), "flows")) {
    if (!flow.has("over") || !flow.text("over").empty()) {
      return fmt::format("`over` of flow {} is a list of links, or their weights",
                         flow.text("name"));
    }
    std::map<std::string, double> over;  // link -> weight
    for (const std::string& link : flow.texts("over")) {
      over[link] = 1.0;
    }
    for (const yaml::Entry& link : flow.row("over").value().entries) {
      over[link.key] = flow.row("over").number(link.key).value_or(0.0);
    }
    std::vector<fabric::Hop> hops;
    for (const auto& [link, weight] : over) {
      const auto found = ids.find(link);
      if (found == ids.end() || weight <= 0.0) {
        return fmt::format("flow {} crosses no known link: {}", flow.text("name"), link);
      }
      hops.push_back({found->second, weight});
    }
    const auto bound = flow.number("bound");
    for (std::int64_t i = 0; i < flow.integer("count").value_or(1); ++i) {
      named.insert_or_assign(
          flow.text("name"),
          flows.start(hops, bytes(kTera), bound ? bytes_per_second(*bound) : fabric::kUnbounded));
    }
  }
  const auto rate = [&](std::string_view key) -> std::optional<double> {
    const auto found = named.find(row.text(key));
    return found == named.end() ? std::nullopt
                                : std::optional(in_bytes_per_second(flows.rate(found->second)));
  };
  const std::optional<double> of = rate("of");
  const std::optional<double> to = row.has("ratio_to") ? rate("ratio_to") : std::optional(1.0);
  if (!of || !to) {
    return "`of` or `ratio_to` names no flow";
  }
  return *of / *to;
}

// Flows from as many hosts under one switch to hosts under another.
double fullest_uplink(const DataRow& row, const DataRow& otherwise, std::uint64_t seed) {
  const auto count = [&](std::string_view key, std::int64_t fallback) {
    return static_cast<std::int32_t>(
        row.integer(key).value_or(otherwise.integer(key).value_or(fallback)));
  };
  const std::int32_t flows = count("flows", 1);
  const std::int32_t links = count("links", 1);
  fabric::TopologySpec spec;
  spec.nodes = 2 * flows;
  spec.nic_rate = bytes_per_second(1.0);
  spec.tiers = {{.nodes = flows, .links = links}, {.nodes = 2 * flows}};
  spec.routing = fabric::Spreading::hashed;
  spec.paths_per_flow = count("paths", 1);
  spec.seed = seed;
  const fabric::Topology topology(spec);
  std::vector<double> loads(static_cast<std::size_t>(links), 0.0);
  std::vector<fabric::Hop> hops;
  for (std::int32_t flow = 0; flow < flows; ++flow) {
    topology.add_climb({flow, 0}, {flows + flow, 0}, 1.0, hops);
  }
  for (const fabric::Hop& hop : hops) {
    const fabric::LinkPlace place = topology.place(hop.link);
    if (place.kind == fabric::LinkKind::uplink && place.direction == fabric::Direction::up &&
        place.tier == 0) {
      loads[static_cast<std::size_t>(place.number)] += hop.weight;
    }
  }
  return *std::ranges::max_element(loads) * links / flows;
}

double hashed_mean(const DataRow& row, const DataRow& otherwise) {
  constexpr std::uint64_t kSeeds = 400;
  const bool speed = otherwise.text("of") == "speed";
  double sum = 0.0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const double fullest = fullest_uplink(row, otherwise, seed);
    sum += speed ? 1.0 / fullest : fullest;
  }
  return sum / static_cast<double>(kSeeds);
}

Answer hashed(const DataRow& row) {
  for (const DataRow& one : {row, row.row("against")}) {
    for (const std::string_view key : {"flows", "links", "paths"}) {
      if (one.has(key) && one.integer(key).value_or(0) < 1) {
        return fmt::format("{} must be at least 1", key);
      }
    }
  }
  if (!row.has("flows") || !row.has("links")) {
    return "flows and links are needed";
  }
  if (row.text("of") != "fullest" && row.text("of") != "speed") {
    return "`of` is fullest or speed";
  }
  const double scale = row.number("scale").value_or(1.0);
  const double own = hashed_mean(row, row);
  return scale * (row.has("against") ? hashed_mean(row.row("against"), row) / own : own);
}

// Mean period of `jobs` that compute, then send over one link, begun `apart` after one another.
double period(int jobs, double compute, double send, double apart) {
  constexpr int kRounds = 60;
  constexpr int kSettled = 20;
  constexpr double kRate = kGiga;
  const std::vector<BytesPerSecond> link = {bytes_per_second(kRate)};
  fabric::FluidFlows flows(link);
  const std::vector<fabric::Hop> hops = {{fabric::LinkId{0}, 1.0}};
  std::vector<SimTime> begins;  // of the next sending, by job; kForever while it sends
  std::map<std::size_t, int> sender;
  for (int job = 0; job < jobs; ++job) {
    begins.push_back(to_sim_time(seconds(compute + apart * job)));
  }
  std::vector<SimTime> ends;  // of the first job
  while (ends.size() < kRounds) {
    const auto next = std::ranges::min_element(begins);
    const SimTime until = std::min(*next, flows.next_end());
    for (const fabric::FlowId flow : flows.advance_to(until)) {
      const int job = sender[flow.index()];
      begins[static_cast<std::size_t>(job)] = until + to_sim_time(seconds(compute));
      if (job == 0) {
        ends.push_back(until);
      }
    }
    for (std::size_t job = 0; job < begins.size(); ++job) {
      if (begins[job] == until) {
        sender[flows.start(hops, bytes(kRate * send)).index()] = static_cast<int>(job);
        begins[job] = kForever;
      }
    }
  }
  return in_seconds(to_seconds(ends.back() - ends[kSettled])) / (kRounds - 1 - kSettled);
}

Answer phases(const DataRow& row) {
  const auto jobs = static_cast<int>(row.integer("jobs").value_or(0));
  const double compute = row.number("compute").value_or(0.0);
  const double send = row.number("send").value_or(0.0);
  if (jobs < 1 || compute <= 0.0 || send <= 0.0) {
    return "jobs, compute and send are needed";
  }
  if (row.text("of") != "period" && row.text("of") != "gain") {
    return "`of` is period or gain";
  }
  const double together = period(jobs, compute, send, 0.0);
  return row.text("of") == "gain" ? together / period(jobs, compute, send, (compute + send) / jobs)
                                  : together / (compute + send);
}

Answer answer(const DataRow& row) {
  const std::string kind = row.text("kind");
  return kind == "rates"    ? rate_of(row)
         : kind == "hashed" ? hashed(row)
         : kind == "phases" ? phases(row)
                            : Answer(fmt::format("kind `{}` is not known", kind));
}

}  // namespace

std::vector<ValidationRow> fabric_case_rows(const DataSet& data) {
  std::vector<ValidationRow> rows;
  for (const DataRow& row : data_rows(data.document, "cases")) {
    ValidationRow out;
    out.id = row.text("id");
    out.group = row.text("kind");
    out.quantity = "sharing";
    out.unit = row.text("unit");
    if (row.has("reason")) {
      out.notes.push_back(row.text("reason"));
    }
    const auto measured = row.number("measured");
    const Answer found = answer(row);
    if (const auto* problem = std::get_if<std::string>(&found)) {
      out.skipped = *problem;
    } else if (!measured) {
      out.skipped = "no `measured`";
    } else {
      out.predicted = std::get<double>(found);
      out.measured = *measured;
    }
    rows.push_back(std::move(out));
  }
  return rows;
}

}  // namespace orrery::validate
