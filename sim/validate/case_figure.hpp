#pragma once

// What does a case answer, and in which unit does it want the answer? A number with its dimension.
//
// dimension       | base unit   | spelled in a case as
// ----------------|-------------|------------------------------------------------------------------
// number          | 1           | fraction, ratio, probability, count, machines, nodes; percent
// time            | s           | s, min, h, d and the words; GPU-hours
// size            | byte        | B, kB, MB, GB, TB, MiB, GiB, TiB
// bandwidth       | byte/s      | a size per second
// money           | $           | USD, $, k USD, M USD
// price rate      | $/s         | USD/h
// energy          | kWh         | kWh, MWh, GWh
// FLOP rate       | FLOP/s      | TFLOP/s, PFLOP/s (per GPU: a figure per GPU was computed)
// event rate      | 1/s         | 1/h, 1/d
// node rate       | 1/s         | per 1000 node-days, per node-day

#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace orrery::validate {

struct Figure {
  enum class Dimension {
    number,
    time,
    size,
    bandwidth,
    money,
    price_rate,
    energy,
    flop_rate,
    event_rate,
    node_rate,
  };

  Dimension dimension = Dimension::number;
  double base = 0.0;  // in the base unit
};

using Figures = std::vector<Figure>;

[[nodiscard]] inline Figure figure(double value) {
  return {Figure::Dimension::number, value};
}

[[nodiscard]] inline Figure figure(Seconds value) {
  return {Figure::Dimension::time, in_seconds(value)};
}

[[nodiscard]] inline Figure figure(Bytes value) {
  return {Figure::Dimension::size, in_bytes(value)};
}

[[nodiscard]] inline Figure figure(BytesPerSecond value) {
  return {Figure::Dimension::bandwidth, in_bytes_per_second(value)};
}

[[nodiscard]] inline Figure figure(Dollars value) {
  return {Figure::Dimension::money, in_dollars(value)};
}

[[nodiscard]] inline Figure figure(DollarsPerSecond value) {
  return {Figure::Dimension::price_rate, in_dollars_per_second(value)};
}

[[nodiscard]] inline Figure figure(FlopPerSecond value) {
  return {Figure::Dimension::flop_rate, in_flop_per_second(value)};
}

[[nodiscard]] inline Figure energy_figure(double kilowatt_hours) {
  return {Figure::Dimension::energy, kilowatt_hours};
}

[[nodiscard]] inline Figure rate_figure(PerSecond events) {
  return {Figure::Dimension::event_rate, in_per_second(events)};
}

[[nodiscard]] inline Figure node_rate_figure(PerSecond failures_of_a_node) {
  return {Figure::Dimension::node_rate, in_per_second(failures_of_a_node)};
}

// The figure in the unit that `unit` spells; without a unit, in SI (rates of a node: per 1,000
// node-days). Nothing when the unit measures something else.
[[nodiscard]] std::optional<double> in_unit(const Figure& figure, std::string_view unit);

}  // namespace orrery::validate
