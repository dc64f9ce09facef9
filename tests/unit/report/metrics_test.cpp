// The registry: one name, one key, one unit per metric; values read like a person writes them.

#include "sim/answer/report/metrics.hpp"

#include <gtest/gtest.h>

#include <set>

namespace orrery::report {
namespace {

TEST(Metrics, NamesAndKeysAreUniqueAndInOrder) {
  std::set<std::string_view> names;
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i < kMetricCount; ++i) {
    const MetricInfo& metric = info(static_cast<MetricId>(i));
    EXPECT_EQ(static_cast<std::size_t>(metric.id), i);
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_TRUE(keys.insert(metric.json_key).second) << metric.json_key;
    EXPECT_FALSE(metric.meaning.empty()) << metric.name;
    EXPECT_EQ(find_metric(metric.name), &metric);
  }
  EXPECT_EQ(find_metric("no_such_metric"), nullptr);
}

TEST(Metrics, TheKeyNamesTheUnitOfTheDimension) {
  for (const MetricInfo& metric : metric_registry()) {
    const std::string_view key = metric.json_key;
    const bool suffixed =
        (metric.dimension != Dimension::time || key.ends_with("_s")) &&
        (metric.dimension != Dimension::bytes || key.ends_with("_bytes")) &&
        (metric.dimension != Dimension::dollars || key.ends_with("_usd")) &&
        (metric.dimension != Dimension::energy || key.ends_with("_kwh")) &&
        (metric.dimension != Dimension::mass || key.ends_with("_kg")) &&
        (metric.dimension != Dimension::price || key.ends_with("_per_gpu_hour")) &&
        (metric.dimension != Dimension::date || key.ends_with("_unix_s"));
    EXPECT_TRUE(suffixed) << key;
    EXPECT_TRUE(key.starts_with(metric.name)) << key;
  }
}

TEST(Metrics, TheNamesOfTheContractExist) {
  for (const std::string_view name : {"step_time",
                                      "tokens_per_second",
                                      "tokens_per_second_per_gpu",
                                      "mfu",
                                      "mfu_causal",
                                      "mfu_6nd",
                                      "hfu",
                                      "bubble_fraction",
                                      "exposed_communication_fraction",
                                      "peak_memory",
                                      "memory_headroom",
                                      "finish_time",
                                      "finish_date",
                                      "goodput",
                                      "cost",
                                      "cost_per_million_tokens",
                                      "gpu_hours",
                                      "failures",
                                      "lost_work",
                                      "checkpoint_interval",
                                      "energy"}) {
    EXPECT_NE(find_metric(name), nullptr) << name;
  }
}

TEST(Metrics, ValuesReadInTheirNaturalUnit) {
  EXPECT_EQ(format_value(Dimension::time, 6.21), "6.21 s");
  EXPECT_EQ(format_value(Dimension::time, 11'124.0), "3.09 h");
  EXPECT_EQ(format_value(Dimension::bytes, 80.0 * 1073741824.0), "80.0 GiB");
  EXPECT_EQ(format_value(Dimension::dollars, 46.1e6), "$46.1M");
  EXPECT_EQ(format_value(Dimension::fraction, 0.4133), "41.3%");
  EXPECT_EQ(format_value(Dimension::count, 419.0), "419");
  EXPECT_EQ(format_value(Dimension::tokens_per_second, 2.7e6), "2.70M tokens/s");
  EXPECT_EQ(format_value(Dimension::flop_rate, 400e12), "400 TFLOP/s");
  EXPECT_EQ(format_value(Dimension::date, 19868.0 * 86400.0), "2024-05-25T00:00Z");
  EXPECT_EQ(format_value(Dimension::energy, 1.5e6), "1.50M kWh");
}

TEST(Metrics, ASetRemembersWhatItWasGiven) {
  MetricSet set;
  EXPECT_EQ(set.find(MetricId::mfu), nullptr);
  set.set({.id = MetricId::mfu, .value = 0.41, .trials = std::nullopt});
  ASSERT_NE(set.find(MetricId::mfu), nullptr);
  EXPECT_DOUBLE_EQ(set.find(MetricId::mfu)->value, 0.41);
  EXPECT_EQ(set.find(MetricId::hfu), nullptr);
}

}  // namespace
}  // namespace orrery::report
