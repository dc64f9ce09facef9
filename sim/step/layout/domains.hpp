#pragma once

// How much of each multi-host NVLink domain a job uses: as many GPUs as its groups fill.
//
//   used = largest multiple of unit up to the domain that divides the job, where that is at least
//          half a domain, else the largest multiple
//   unit = least common multiple of gpus_per_node and the blocks of the groups
//
// symbol | meaning                                                          | unit  | origin
// -------|------------------------------------------------------------------|-------|---------
// block  | consecutive ranks that hold a group of tensor, context, expert or | ranks | placement
//        | expert_tensor ranks, where a domain can hold them                |       |
// used   | GPUs of each domain; ranks fill one after the other              | GPUs  | computed
//
// A rack of 72 GPUs holds nine groups of 8, but launchers give a job of 256 GPUs 64 of each: 16 of
// 18 hosts, so that all racks are alike and no group of 16, 32 or 64 ranks spans two (Slurm's
// topology/block plugin: --segment=16; NVIDIA's recipes for GB200 NVL72). A group larger than a
// domain is cut into equal parts. Domains of one host, and jobs inside one domain, need no rule.

#include <optional>
#include <variant>

#include "sim/step/layout/layout_spec.hpp"

namespace orrery::layout {

// The cluster as the job's ranks see it: only the GPUs that it uses. `asked`: so many of each
// domain, whatever group then lies across two.
[[nodiscard]] std::variant<ClusterShape, LayoutProblem> use_domains(
    const Layout& layout, const ClusterShape& cluster, std::optional<std::int64_t> asked);

}  // namespace orrery::layout
