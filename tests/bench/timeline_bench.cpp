// Frame times of the timeline with ten million slices: frames of 1600 x 900 pixels at random
// places, in software, without a display.
//
//   zoom   = share of the time that is visible; rows: all of them, or 18 pixels each
//   median, p99 = of the time of one frame; limits: 16 ms and 33 ms
//   painted = share of pixels that differ from the background, least over the frames
//
// A frame that shows less than a tenth of what its slices cover is an error, not a fast frame.
// The operations of the main scenario are drawn as well, as a window draws them: also with two
// pixels to the point.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <QApplication>
#include <QImage>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gui/models/jobs/evaluation_job.hpp"
#include "gui/timeline/chrome/chrome_reader.hpp"
#include "gui/timeline/raster.hpp"
#include "gui/widgets/timeline/timeline_view.hpp"
#include "tests/checkout.hpp"
#include "tests/gui/synthetic.hpp"

namespace orrery::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWidth = 1600;
constexpr int kHeight = 900;
constexpr std::uint64_t kSlices = 10'000'000;
constexpr double kPerMillion = 1e-6;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double quantile(std::vector<double> values, double q) {
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

// Stores are big: one at a time.
class Stores {
 public:
  std::shared_ptr<const timeline::Store> get(std::uint32_t rows) {
    if (rows != rows_) {
      store_.reset();
      store_ = timeline::synthetic_store({.rows = rows, .slices = kSlices});
      rows_ = rows;
    }
    return store_;
  }

 private:
  std::uint32_t rows_ = 0;
  std::shared_ptr<const timeline::Store> store_;
};

Stores& stores() {
  static Stores kept;
  return kept;
}

double painted(const QImage& image, timeline::Rgb background, timeline::Rgb alternate) {
  std::int64_t count = 0;
  for (int y = 0; y < image.height(); ++y) {
    const auto* line = reinterpret_cast<const timeline::Rgb*>(image.constScanLine(y));
    count += std::count_if(line, line + image.width(), [&](timeline::Rgb pixel) {
      return pixel != background && pixel != alternate;
    });
  }
  return static_cast<double>(count) / (double{kWidth} * kHeight);
}

// Arguments: rows, visible time in millionths, height of a row in pixels (0: all rows fit).
void frames(benchmark::State& state) {
  const auto store = stores().get(static_cast<std::uint32_t>(state.range(0)));
  const double share = static_cast<double>(state.range(1)) * kPerMillion;
  timeline::View view = timeline::view_of(store, kWidth, kHeight);
  if (state.range(2) == 0) {
    view.rows().fit_all();
  } else {
    view.rows().set_row_height(static_cast<double>(state.range(2)));
  }
  const timeline::Palette palette = timeline::light_palette();
  QImage image(kWidth, kHeight, QImage::Format_RGB32);
  RandomStream random(1, 0, Purpose::property_test);
  const timeline::TimeRange all = store->range();
  const auto length = static_cast<std::int64_t>(share * static_cast<double>(all.length()));
  std::vector<double> times;
  double least_painted = 1.0;
  for ([[maybe_unused]] const auto _ : state) {
    const double place = random.uniform01() * (1.0 - share) * 0.8;
    const auto begin = static_cast<std::int64_t>(place * static_cast<double>(all.length()));
    view.set_window({begin, begin + length});
    view.rows().set_scroll(random.uniform01() * view.rows().largest_scroll());
    const Clock::time_point start = Clock::now();
    timeline::paint_rows(view, palette, image);
    times.push_back(milliseconds_since(start));
    state.SetIterationTime(times.back() / 1e3);
    least_painted = std::min(least_painted, painted(image, palette.background, palette.alternate));
  }
  constexpr double kLeastPainted = 0.1;
  if (least_painted < kLeastPainted) {
    state.SkipWithError("a frame was not painted");
  }
  state.counters["median_ms"] = quantile(times, 0.5);
  state.counters["p99_ms"] = quantile(times, 0.99);
  state.counters["painted"] = least_painted;
}

// The innermost level of the main scenario: the operations of one step on 16 stages.
const timeline::Level& operations() {
  static const timeline::Level level = [] {
    const std::string file = std::string(kSourceDir) + "/scenarios/llama3-405b-16k.yaml";
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    return gui::evaluate_text({.text = text, .file_name = file})->levels.back();
  }();
  return level;
}

// Arguments: visible time in millionths, height of a row in points (0: all rows fit), pixels to the
// point.
void operation_frames(benchmark::State& state) {
  const timeline::Level& level = operations();
  const double share = static_cast<double>(state.range(0)) * kPerMillion;
  const auto fine = static_cast<int>(state.range(2));
  timeline::View view = timeline::view_of(level.store, kWidth, kHeight);
  if (state.range(1) == 0) {
    view.rows().fit_all();
  } else {
    view.rows().set_row_height(static_cast<double>(state.range(1)));
  }
  const timeline::Palette palette = timeline::light_palette();
  QImage image(kWidth * fine, kHeight * fine, QImage::Format_RGB32);
  RandomStream random(3, 0, Purpose::property_test);
  const timeline::TimeRange all = level.store->range();
  const auto length = static_cast<std::int64_t>(share * static_cast<double>(all.length()));
  std::vector<double> times;
  for ([[maybe_unused]] const auto _ : state) {
    const double place = random.uniform01() * (1.0 - share);
    const auto begin = static_cast<std::int64_t>(place * static_cast<double>(all.length()));
    view.set_window({begin, begin + length});
    view.rows().set_scroll(random.uniform01() * view.rows().largest_scroll());
    const Clock::time_point start = Clock::now();
    if (fine == 1) {
      timeline::paint_rows(view, palette, image);
    } else {
      timeline::paint_rows(view.magnified(fine, kWidth * fine), palette, image);
    }
    times.push_back(milliseconds_since(start));
    state.SetIterationTime(times.back() / 1e3);
  }
  state.counters["slices"] = static_cast<double>(level.store->slices().size());
  state.counters["median_ms"] = quantile(times, 0.5);
  state.counters["p99_ms"] = quantile(times, 0.99);
}

// The whole widget: raster, names, labels, axis, legend; painted into an image.
void widget_frames(benchmark::State& state) {
  const auto store = stores().get(static_cast<std::uint32_t>(state.range(0)));
  const double share = static_cast<double>(state.range(1)) * kPerMillion;
  gui::TimelineView widget;
  widget.resize(kWidth, kHeight);
  timeline::Levels levels;
  levels.push_back({"synthetic", "trace", store, {}, ""});
  widget.set_levels(std::move(levels));
  if (state.range(2) == 0) {
    widget.toggle_fit_rows();
  }
  QImage image(kWidth, kHeight, QImage::Format_RGB32);
  RandomStream random(2, 0, Purpose::property_test);
  const timeline::TimeRange all = store->range();
  const auto length = static_cast<std::int64_t>(share * static_cast<double>(all.length()));
  const timeline::Palette palette = timeline::light_palette();
  std::vector<double> times;
  double least_painted = 1.0;
  for ([[maybe_unused]] const auto _ : state) {
    const double place = random.uniform01() * (1.0 - share) * 0.8;
    const auto begin = static_cast<std::int64_t>(place * static_cast<double>(all.length()));
    widget.view().set_window({begin, begin + length});
    widget.view().rows().set_scroll(random.uniform01() * widget.view().rows().largest_scroll());
    widget.view_changed();
    const Clock::time_point start = Clock::now();
    widget.render(&image);
    times.push_back(milliseconds_since(start));
    state.SetIterationTime(times.back() / 1e3);
    const QImage rows = image.copy(widget.regions().rows);
    least_painted = std::min(least_painted, painted(rows, palette.background, palette.alternate));
  }
  constexpr double kLeastPainted = 0.1;
  if (least_painted < kLeastPainted) {
    state.SkipWithError("a frame was not painted");
  }
  state.counters["median_ms"] = quantile(times, 0.5);
  state.counters["p99_ms"] = quantile(times, 0.99);
  state.counters["painted"] = least_painted;
}

void load_and_index(benchmark::State& state) {
  double bytes = 0.0;
  for ([[maybe_unused]] const auto _ : state) {
    timeline::StoreBuilder builder;
    timeline::fill_synthetic(
        builder, {.rows = static_cast<std::uint32_t>(state.range(0)), .slices = kSlices});
    const auto store = builder.build();
    bytes = static_cast<double>(store->bytes()) / static_cast<double>(store->slices().size());
  }
  state.counters["bytes_per_slice"] = bytes;
}

// A trace file of a million slices, from the disk (cached) to the store.
void read_trace(benchmark::State& state) {
  constexpr int kEvents = 1'000'000;
  const std::filesystem::path path = std::filesystem::temp_directory_path() /
                                     ("orrery-bench-" + std::to_string(::getpid()) + ".json");
  {
    std::ofstream file(path);
    file << "{\"traceEvents\":[";
    for (int i = 0; i < kEvents; ++i) {
      file << (i > 0 ? ",\n" : "\n") << R"({"ph":"X","cat":"kernel","name":"kernel )" << i % 300
           << R"(","pid":0,"tid":)" << i % 16 << R"(,"ts":)" << i << R"(.125,"dur":0.875})";
    }
    file << "]}";
  }
  const auto size = static_cast<double>(std::filesystem::file_size(path));
  for ([[maybe_unused]] const auto _ : state) {
    const timeline::ReadResult result = timeline::read_chrome_trace(path, {});
    if (!result.store || result.store->slices().size() != kEvents) {
      state.SkipWithError("the trace was not read");
    }
  }
  state.counters["bytes_per_second"] = benchmark::Counter(
      size, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
  std::filesystem::remove(path);
}

void all_views(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t rows : {256, 16'384}) {
    for (const std::int64_t height : {0, 18}) {
      for (const std::int64_t share : {1'000'000, 390'000, 100'000, 30'000, 10'000, 1'000, 100}) {
        benchmark->Args({rows, share, height});
      }
    }
  }
}

BENCHMARK(frames)->Apply(all_views)->Iterations(100)->UseManualTime()->Unit(
    benchmark::kMillisecond);
BENCHMARK(widget_frames)
    ->ArgsProduct({{256, 16'384}, {1'000'000, 10'000, 100}, {0, 18}})
    ->Iterations(100)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(operation_frames)
    ->ArgsProduct({{1'000'000, 100'000, 10'000, 1'000}, {0, 18}, {1, 2}})
    ->Iterations(100)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(load_and_index)->Arg(256)->Arg(16'384)->Iterations(1)->Unit(benchmark::kSecond);

BENCHMARK(read_trace)->Iterations(1)->Unit(benchmark::kSecond);

}  // namespace
}  // namespace orrery::bench

int main(int argc, char** argv) {
  if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM")) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  const QApplication application(argc, argv);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
