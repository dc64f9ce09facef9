#include "sim/base/yaml/reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "sim/base/random.hpp"
#include "sim/base/text/format.hpp"
#include "sim/base/yaml/kinds.hpp"

namespace orrery::yaml {
namespace {

enum class Sharding { none, zero1, zero3 };

constexpr std::array<Choice<Sharding>, 4> kShardings = {{{"none", Sharding::none},
                                                         {"zero1", Sharding::zero1},
                                                         {"zero3", Sharding::zero3},
                                                         {"fsdp", Sharding::zero3}}};

// A document, its diagnostics, and a reader of its root.
class Reader : public ::testing::Test {
 protected:
  MappingReader& open(std::string_view text, std::string path = {}) {
    auto value = parse(text, "a.yaml", Limits{}, diagnostics_);
    EXPECT_TRUE(value.has_value()) << to_string(diagnostics_);
    value_ = std::move(value).value_or(Value{});
    reader_.emplace(value_, diagnostics_, std::move(path));
    return *reader_;
  }

  [[nodiscard]] std::string errors() const { return to_string(diagnostics_); }

  Diagnostics diagnostics_;
  Value value_;
  std::optional<MappingReader> reader_;
};

TEST_F(Reader, GetsEveryScalarKind) {
  MappingReader& r = open(
      "count: 15.6T\nnumber: 1e3\nflag: true\nfraction: 38%\nsize: 80GiB\ntime: 12min\n"
      "rate: 400Gbps\nflops: 989TFLOP/s\nmoney: $46.1M\nprice: $2.50/h\nevents: 0.1/d\n"
      "date: 2026-11-01\nevery: 1000 steps\nname: x y\n");
  EXPECT_EQ(r.require<kind::Count>("count"), 15'600'000'000'000);
  EXPECT_EQ(r.require<kind::Number>("number"), 1000.0);
  EXPECT_EQ(r.require<kind::Boolean>("flag"), true);
  EXPECT_EQ(r.require<kind::Fraction>("fraction"), 0.38);
  EXPECT_EQ(r.require<kind::Size>("size"), gibibytes(80.0));
  EXPECT_EQ(r.optional<kind::Time>("time"), minutes(12.0));
  EXPECT_EQ(r.optional<kind::Bandwidth>("rate"), gigabits_per_second(400.0));
  EXPECT_EQ(r.optional<kind::FlopRate>("flops"), teraflop_per_second(989.0));
  EXPECT_EQ(r.optional<kind::Money>("money"), dollars(46.1 * kMega));
  EXPECT_EQ(r.optional<kind::PriceRate>("price"), dollars(2.5) / hours(1.0));
  EXPECT_TRUE(r.optional<kind::EventRate>("events").has_value());
  EXPECT_TRUE(r.optional<kind::Date>("date").has_value());
  EXPECT_TRUE(r.optional<kind::StepsOrDuration>("every").has_value());
  EXPECT_EQ(r.require_text("name"), "x y");
  EXPECT_FALSE(r.optional<kind::Time>("absent").has_value());
  r.finish();
  EXPECT_EQ(errors(), "");
}

TEST_F(Reader, ReportsUnknownKeysWithTheNearestNameOrTheList) {
  MappingReader& r = open("tensr: 8\nzzz: 1\ntensor: 4\n", "layout");
  EXPECT_EQ(r.require<kind::Count>({"tensor", "tp"}), 4);
  EXPECT_FALSE(r.optional<kind::Count>("pipeline").has_value());
  r.finish();
  EXPECT_EQ(errors(),
            "a.yaml:1:1: error: layout.tensr: unknown key (did you mean `tensor`?)\n"
            "a.yaml:2:1: error: layout.zzz: unknown key (allowed: tensor, pipeline)\n");
  MappingReader& batch = open("sequence: 8\n", "batch");
  EXPECT_FALSE(batch.optional<kind::Count>("global").has_value());
  batch.finish([](std::string_view) { return std::string_view("model.sequence_length"); });
  EXPECT_TRUE(
      errors().ends_with("a.yaml:1:1: error: batch.sequence: unknown key (it is "
                         "`model.sequence_length`; here: global)\n"))
      << errors();
}

TEST_F(Reader, RefusesTwoNamesOfOneKeyAndNamesBothLines) {
  MappingReader& r = open("tp: 8\nx: 1\ntensor: 8\n", "layout");
  EXPECT_EQ(r.require<kind::Count>({"tensor", "tp", "tensor_model_parallel_size"}), 8);
  r.allow("x");
  r.finish();
  EXPECT_EQ(errors(),
            "a.yaml:3:1: error: layout.tensor: is another name of `tp`, given in line 1 (give one "
            "of them)\n");
}

TEST_F(Reader, ReportsMissingEmptyAndMisshapenValues) {
  MappingReader& r = open("a:\nb: [1]\nc: {d: 1}\n", "x");
  EXPECT_FALSE(r.require<kind::Time>("t").has_value());
  EXPECT_FALSE(r.require<kind::Time>("a").has_value());
  EXPECT_FALSE(r.require<kind::Time>("b").has_value());
  EXPECT_FALSE(r.require_text("c").has_value());
  r.finish();
  EXPECT_EQ(errors(),
            "a.yaml:1:1: error: x.t: is required but missing (a time such as 30min)\n"
            "a.yaml:1:1: error: x.a: has no value (a time such as 30min)\n"
            "a.yaml:2:4: error: x.b: is a list where a time is needed (a time such as 30min)\n"
            "a.yaml:3:4: error: x.c: is a mapping where a text is needed (a text such as "
            "`abc`)\n");
}

TEST_F(Reader, ChecksRanges) {
  MappingReader& r = open("a: 0\nb: 9\nc: 0s\nd: 5\ne: 2d\n");
  EXPECT_FALSE(r.require<kind::Count>("a", at_least<std::int64_t>(1)).has_value());
  EXPECT_FALSE(r.require<kind::Count>("b", between<std::int64_t>(1, 8)).has_value());
  EXPECT_FALSE(r.require<kind::Time>("c", above(seconds(0.0))).has_value());
  EXPECT_EQ(r.require<kind::Count>("d", between<std::int64_t>(5, 5)), 5);
  EXPECT_FALSE(r.require<kind::Time>("e", at_most(days(1.0))).has_value());
  r.finish();
  EXPECT_EQ(errors(),
            "a.yaml:1:4: error: a: `0` is too small (at least 1)\n"
            "a.yaml:2:4: error: b: `9` is too large (at most 8)\n"
            "a.yaml:3:4: error: c: `0s` is too small (above 0 s)\n"
            "a.yaml:5:4: error: e: `2d` is too large (at most 24 h)\n");
}

TEST_F(Reader, MapsNamesToEnumerations) {
  MappingReader& r = open("a: fsdp\nb: zero2\nc: everything\n");
  EXPECT_EQ(r.require_choice("a", kShardings), Sharding::zero3);
  EXPECT_FALSE(r.require_choice("b", kShardings).has_value());
  EXPECT_FALSE(r.optional_choice("c", kShardings).has_value());
  EXPECT_FALSE(r.optional_choice("d", kShardings).has_value());
  EXPECT_FALSE(r.require_choice("e", kShardings).has_value());
  r.finish();
  EXPECT_EQ(errors(),
            "a.yaml:2:4: error: b: `zero2` is not known, did you mean `zero1`? (allowed: none, "
            "zero1, zero3, fsdp)\n"
            "a.yaml:3:4: error: c: `everything` is not known (allowed: none, zero1, zero3, fsdp)\n"
            "a.yaml:1:1: error: e: is required but missing (a name such as none)\n");
}

TEST_F(Reader, NamesTheWordsThatHoldWhatWasWritten) {
  MappingReader& r = open("a: zero\nb: sdp\n");
  EXPECT_FALSE(r.require_choice("a", kShardings).has_value());
  EXPECT_FALSE(r.require_choice("b", kShardings).has_value());
  r.finish();
  EXPECT_EQ(errors(),
            "a.yaml:1:4: error: a: `zero` is not known, which of zero1, zero3? (allowed: none, "
            "zero1, zero3, fsdp)\n"
            "a.yaml:2:4: error: b: `sdp` is not known, did you mean `fsdp`? (allowed: none, "
            "zero1, zero3, fsdp)\n");
}

TEST_F(Reader, DescendsIntoMappingsAndLists) {
  MappingReader& r =
      open("tiers:\n  - {rate: 1GB/s}\n  - {rat: 2GB/s}\n  - 5\nin: {a: 1}\nout: 3\n");
  std::vector<MappingReader> tiers = r.optional_mappings("tiers");
  ASSERT_EQ(tiers.size(), 2U);
  EXPECT_EQ(tiers[0].require<kind::Bandwidth>("rate"), gigabytes_per_second(1.0));
  tiers[0].finish();
  EXPECT_FALSE(tiers[1].optional<kind::Bandwidth>("rate").has_value());
  tiers[1].finish();
  auto in = r.require_mapping("in");
  ASSERT_TRUE(in.has_value());
  EXPECT_EQ(in->path(), "in");
  EXPECT_EQ(in->require<kind::Count>("a"), 1);
  EXPECT_FALSE(r.optional_mapping("out").has_value());
  r.finish();
  EXPECT_EQ(errors(),
            "a.yaml:4:5: error: tiers[2]: is a text where a mapping is needed (a mapping of keys "
            "to values)\n"
            "a.yaml:3:6: error: tiers[1].rat: unknown key (did you mean `rate`?)\n"
            "a.yaml:6:6: error: out: is a text where a mapping is needed (a mapping of keys to "
            "values)\n");
}

TEST_F(Reader, ReadsListsOfScalars) {
  MappingReader& r = open("a: [1, 2k]\nb: [1, x, '']\nc: 3\nd: [p, q]\ne: []\n");
  EXPECT_EQ(r.optional_list<kind::Count>("a"), (std::vector<std::int64_t>{1, 2000}));
  EXPECT_FALSE(r.optional_list<kind::Count>("b").has_value());
  EXPECT_FALSE(r.optional_list<kind::Count>("c").has_value());
  EXPECT_EQ(r.optional_text_list("d"), (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(r.optional_list<kind::Count>("e")->size(), 0U);
  EXPECT_FALSE(r.optional_text_list("b").has_value());
  const std::string text = errors();
  EXPECT_NE(text.find("a.yaml:2:8: error: b[1]: `x` does not begin with a number"),
            std::string::npos);
  EXPECT_NE(text.find("a.yaml:3:4: error: c: is a text where a list is needed"), std::string::npos);
  EXPECT_NE(text.find("a.yaml:2:11: error: b[2]: is an empty text"), std::string::npos);
}

TEST_F(Reader, TakesValuesOfSeveralForms) {
  MappingReader& r = open("interval: auto\nother: 'auto'\nlayers: {n: 3}\n");
  EXPECT_TRUE(r.take_word("interval", "auto"));
  EXPECT_TRUE(r.take_word("other", "auto"));  // as JSON writes it
  const Value* layers = r.take("layers");
  ASSERT_NE(layers, nullptr);
  EXPECT_EQ(layers->kind, Value::Kind::mapping);
  r.finish();
  EXPECT_EQ(errors(), "");
}

TEST_F(Reader, PlacesErrorsAcrossKeys) {
  MappingReader& r = open("heads: 64\ntensor: 6\n", "layout");
  EXPECT_EQ(r.where("tensor").line, 2);
  r.error("tensor", "6 does not divide 64 heads", "1, 2, 4, 8");
  r.error("missing", "cannot be derived");
  EXPECT_EQ(errors(),
            "a.yaml:2:9: error: layout.tensor: 6 does not divide 64 heads (1, 2, 4, 8)\n"
            "a.yaml:1:1: error: layout.missing: cannot be derived\n");
}

TEST_F(Reader, SaysOnceThatTheRootIsNoMapping) {
  MappingReader& r = open("- a\n");
  EXPECT_FALSE(r.valid());
  EXPECT_FALSE(r.require<kind::Count>("x").has_value());
  r.finish();
  EXPECT_EQ(errors(),
            "a.yaml:1:1: error: is a list where a mapping is needed (a mapping of keys to "
            "values)\n");
}

TEST_F(Reader, LimitsTheNumberOfMessages) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += "k" + std::to_string(i) + ": 1\n";
  }
  MappingReader& r = open(text);
  r.finish();
  const std::string shown = errors();
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 21);
  EXPECT_NE(shown.find("more unknown keys follow"), std::string::npos);
  for (int i = 0; i < 1000; ++i) {
    r.error("k0", "is wrong");
  }
  EXPECT_EQ(diagnostics_.all().size(), kMaxReaderProblems + 1);
}

constexpr int kDraws = 2'000;

// A new seed per run, printed on failure; the magnitude is spread evenly over its exponents.
class RoundTrip : public ::testing::Test {
 protected:
  double draw(double low_exponent, double high_exponent) {
    return std::pow(10.0, low_exponent + (high_exponent - low_exponent) * stream_.uniform01());
  }

  template <typename K, typename Accessor>
  void expect_near(typename K::Type value, double tolerance, const std::string& text, Accessor in) {
    const auto again = K::parse(text);
    ASSERT_TRUE(again.value.has_value()) << text << ": " << again.message << " seed " << seed_;
    EXPECT_NEAR(in(*again.value) / in(value), 1.0, tolerance) << text << " seed " << seed_;
  }

  std::uint64_t seed_ = std::random_device{}();
  RandomStream stream_{seed_, 0, Purpose::property_test};
};

// Three digits lose at most half of the last one: 0.5/100 relative.
constexpr double kThreeDigits = 0.00501;
// Seventeen digits and one product: a few units in the last place.
constexpr double kExact = 1e-14;
constexpr NumberStyle kFull = {17, false};

TEST_F(RoundTrip, Time) {
  for (int i = 0; i < kDraws; ++i) {
    const Seconds value = seconds(draw(-12.0, 12.0));
    expect_near<kind::Time>(value, kThreeDigits, format_time(value), in_seconds);
    expect_near<kind::Time>(value, kExact, format_time(value, kFull), in_seconds);
  }
}

TEST_F(RoundTrip, Size) {
  for (int i = 0; i < kDraws; ++i) {
    const Bytes value = bytes(draw(-3.0, 20.0));
    expect_near<kind::Size>(value, kThreeDigits, format_bytes(value), in_bytes);
    expect_near<kind::Size>(value, kThreeDigits, format_bytes_binary(value), in_bytes);
    expect_near<kind::Size>(value, kExact, format_bytes_binary(value, kFull), in_bytes);
  }
}

TEST_F(RoundTrip, Rates) {
  for (int i = 0; i < kDraws; ++i) {
    const BytesPerSecond bandwidth = bytes_per_second(draw(0.0, 16.0));
    expect_near<kind::Bandwidth>(bandwidth, kThreeDigits, format_bandwidth(bandwidth),
                                 in_bytes_per_second);
    expect_near<kind::Bandwidth>(bandwidth, kExact, format_bandwidth(bandwidth, kFull),
                                 in_bytes_per_second);
    const FlopPerSecond flops = flop_per_second(draw(0.0, 20.0));
    expect_near<kind::FlopRate>(flops, kThreeDigits, format_flop_rate(flops), in_flop_per_second);
    const PerSecond events = per_second(draw(-12.0, 3.0));
    expect_near<kind::EventRate>(events, kThreeDigits, format_event_rate(events), in_per_second);
  }
}

TEST_F(RoundTrip, Money) {
  for (int i = 0; i < kDraws; ++i) {
    const Dollars amount = dollars(draw(-3.0, 16.0));
    expect_near<kind::Money>(amount, kThreeDigits, format_money(amount), in_dollars);
    expect_near<kind::Money>(amount, kExact, format_money(amount, kFull), in_dollars);
    const DollarsPerSecond price = dollars_per_hour(draw(-2.0, 8.0));
    expect_near<kind::PriceRate>(price, kThreeDigits, format_price_rate(price),
                                 in_dollars_per_second);
  }
}

TEST_F(RoundTrip, CountsDatesAndFractionsAreExact) {
  for (int i = 0; i < kDraws; ++i) {
    const auto count =
        static_cast<std::int64_t>(stream_.next_u64() >> stream_.uniform_int(64) >> 1);
    EXPECT_EQ(parse_count(kind::Count::format(count)).value, count) << "seed " << seed_;
    const DateTime date{static_cast<std::int64_t>(stream_.uniform_int(250'000'000'000))};
    EXPECT_EQ(parse_date_time(kind::Date::format(date)).value, date) << "seed " << seed_;
    const double fraction = stream_.uniform01();
    EXPECT_EQ(parse_fraction(kind::Fraction::format(fraction)).value, fraction) << "seed " << seed_;
    const double number = draw(-300.0, 300.0);
    EXPECT_EQ(parse_number(kind::Number::format(number)).value, number) << "seed " << seed_;
  }
}

TEST(Kinds, PrintBoundsWithoutTrailingZeros) {
  EXPECT_EQ(kind::Time::format(minutes(1.0)), "60 s");
  EXPECT_EQ(kind::Time::format(days(365.0)), "365 d");
  EXPECT_EQ(kind::Size::format(gigabytes(80.0)), "80 GB");
  EXPECT_EQ(kind::Money::format(dollars(0.0)), "$0");
  EXPECT_EQ(kind::StepsOrDuration::format(Steps{1000}), "1000 steps");
  EXPECT_EQ(kind::StepsOrDuration::format(minutes(30.0)), "30 min");
  EXPECT_EQ(kind::Boolean::format(true), "true");
}

TEST(Kinds, ExamplesAreAccepted) {
  EXPECT_TRUE(kind::Time::parse(kind::Time::kExample).value.has_value());
  EXPECT_TRUE(kind::Size::parse(kind::Size::kExample).value.has_value());
  EXPECT_TRUE(kind::FlopRate::parse(kind::FlopRate::kExample).value.has_value());
  EXPECT_TRUE(kind::Money::parse(kind::Money::kExample).value.has_value());
  EXPECT_TRUE(kind::PriceRate::parse(kind::PriceRate::kExample).value.has_value());
  EXPECT_TRUE(kind::EventRate::parse(kind::EventRate::kExample).value.has_value());
  EXPECT_TRUE(kind::Date::parse(kind::Date::kExample).value.has_value());
}

}  // namespace
}  // namespace orrery::yaml
