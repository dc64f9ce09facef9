#include "sim/answer/report/picture/step_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include "sim/answer/report/table.hpp"
#include "sim/base/text/format.hpp"
#include "sim/step/simulate/stages/unit_times.hpp"

namespace orrery::report {

namespace {

using schedule::OpKind;
using schedule::StepTask;
using schedule::Stream;
using schedule::TaskKind;
using step::Slice;

constexpr double kLeft = 132.0;
constexpr double kRight = 16.0;
constexpr double kTop = 52.0;
constexpr double kWidth = 1200.0;  // of the time axis
constexpr double kRow = 24.0;
constexpr double kLane = 6.0;
constexpr double kGap = 8.0;
constexpr double kDigit = 6.2;  // width of a digit of a label
constexpr double kNarrow = 0.5;
constexpr double kAxis = 26.0;
constexpr double kLegend = 24.0;

struct Color {
  int red, green, blue;
};

enum class Paint { forward, backward, input, weight, optimizer, data };

struct Legend {
  Paint paint;
  std::string_view label;
};

constexpr std::array<Color, 6> kColors = {{{91, 141, 214},
                                           {97, 178, 120},
                                           {88, 183, 183},
                                           {236, 166, 84},
                                           {128, 110, 170},
                                           {200, 90, 100}}};

constexpr std::array<Legend, 6> kLegends = {{{Paint::forward, "forward"},
                                             {Paint::backward, "backward"},
                                             {Paint::input, "input gradients"},
                                             {Paint::weight, "weight gradients"},
                                             {Paint::optimizer, "optimizer"},
                                             {Paint::data, "data communication"}}};

// Lighter for later chunks: chunk c of v keeps 1 - 0.5 c / v of its color's distance from white.
std::string color_of(Paint paint, int chunk, int chunks) {
  const Color& base = kColors[static_cast<std::size_t>(paint)];
  const double keep = 1.0 - 0.5 * static_cast<double>(chunk) / static_cast<double>(chunks);
  const auto mix = [keep](int value) {
    return static_cast<int>(std::lround(255.0 - (255.0 - value) * keep));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", mix(base.red), mix(base.green), mix(base.blue));
}

Paint paint_of(OpKind kind) {
  switch (kind) {
    case OpKind::forward:
      return Paint::forward;
    case OpKind::backward:
      return Paint::backward;
    case OpKind::backward_input:
      return Paint::input;
    case OpKind::backward_weight:
      return Paint::weight;
  }
  return Paint::forward;
}

Paint paint_of(const StepTask& task) {
  switch (task.kind) {
    case TaskKind::backward:
      return Paint::backward;
    case TaskKind::backward_input:
      return Paint::input;
    case TaskKind::backward_weight:
      return Paint::weight;
    case TaskKind::optimizer:
      return Paint::optimizer;
    case TaskKind::gradient_reduce:
    case TaskKind::parameter_gather:
    case TaskKind::parameter_gather_again:
      return Paint::data;
    default:
      return Paint::forward;
  }
}

// A box of one row, from the left edge of the axis.
struct Box {
  double x = 0.0;
  double width = 0.0;
  std::string color;
  std::string lower_color;  // of the lower half; empty: one color
  std::string label;
};

class Picture {
 public:
  Picture(const Evaluation& evaluation, bool ticks)
      : evaluation_(evaluation),
        ticks_(ticks),
        devices_(static_cast<std::size_t>(evaluation.echo.layout.pipeline)),
        chunks_(static_cast<int>(evaluation.echo.layout.virtual_stages)) {
    for (const Slice& slice : evaluation.step.slices) {
      end_ = std::max(end_, slice.end);
      has_lane_ = has_lane_ || slice.task.stream == Stream::data_parallel_comm;
    }
  }

  std::string draw() {
    const double row = kRow + (has_lane_ ? kLane + 2.0 : 0.0) + kGap;
    const double bottom = kTop + row * static_cast<double>(devices_);
    const double height = bottom + kAxis + kLegend;
    const double width = kLeft + kWidth + kRight;
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n",
        width, height);
    add("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    text(8.0, 20.0, 15.0, xml_text(evaluation_.echo.name));
    text(8.0, 38.0, 11.0, xml_text(subtitle()));
    for (std::size_t device = 0; device < devices_; ++device) {
      draw_device(device, kTop + row * static_cast<double>(device));
    }
    draw_axis(bottom);
    draw_legend(bottom + kAxis + 10.0);
    add("</svg>\n");
    return fmt::to_string(buffer_);
  }

 private:
  template <typename... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Values>(values)...);
  }

  void text(double x, double y, double size, std::string_view content) {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.0f}\">{}</text>\n", x, y, size, content);
  }

  [[nodiscard]] double at(SimTime time) const {
    return end_ > SimTime{} ? kWidth * (static_cast<double>(time.ns) / static_cast<double>(end_.ns))
                            : 0.0;
  }

  [[nodiscard]] std::string in_axis_units(SimTime time) const {
    return ticks_ ? fmt::format("{}", time.ns / step::kTick.ns) : format_time(to_seconds(time));
  }

  // Share of the devices' time in which none of their passes runs.
  [[nodiscard]] double waiting() const {
    double busy = 0.0;
    for (const Slice& slice : evaluation_.step.slices) {
      const bool pass =
          slice.task.stream == Stream::compute && slice.task.kind != TaskKind::send_receive;
      busy += pass ? static_cast<double>((slice.end - slice.start).ns) : 0.0;
    }
    const double all = static_cast<double>(end_.ns) * static_cast<double>(devices_);
    return all > 0.0 ? 1.0 - busy / all : 0.0;
  }

  [[nodiscard]] std::string subtitle() const {
    const layout::Layout& layout = evaluation_.echo.layout;
    std::string line = fmt::format("{}, {} devices, {} micro-batches", evaluation_.echo.schedule,
                                   layout.pipeline, layout.micro_batches);
    if (chunks_ > 1) {
      line += fmt::format(", {} chunks (later ones lighter)", chunks_);
    }
    line += fmt::format("; {}{}, devices wait {:.1f} % of it", in_axis_units(end_),
                        ticks_ ? " ticks" : "", 100.0 * waiting());
    if (ticks_) {
      line += "; a layer takes 1 tick forward, 1 + 1 backward";
    }
    return line;
  }

  [[nodiscard]] std::string device_label(std::size_t device) const {
    std::string layers;
    std::int64_t sum = 0;
    const auto& stages = evaluation_.echo.layout.stages;
    if (device < stages.size()) {
      for (const layout::ChunkLayers& chunk : stages[device]) {
        layers += fmt::format("{}{}", layers.empty() ? "" : "+", chunk.num_layers);
        sum += chunk.num_layers;
      }
    }
    return fmt::format("device {}: {} layer{}", device, layers, sum == 1 ? "" : "s");
  }

  void draw_device(std::size_t device, double y) {
    text(8.0, y + kRow * 0.65, 11.0, device_label(device));
    add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#f2f2f2\"/>\n",
        kLeft, y, kWidth, kRow);
    draw_boxes(boxes(device, Stream::compute), y, kRow);
    if (has_lane_) {
      draw_boxes(boxes(device, Stream::data_parallel_comm), y + kRow + 2.0, kLane);
    }
  }

  [[nodiscard]] Box box_of(const Slice& slice) const {
    const StepTask& task = slice.task;
    Box box;
    box.x = at(slice.start);
    box.width = at(slice.end) - box.x;
    const int chunk = std::max<int>(task.chunk, 0);
    box.color = color_of(paint_of(task), chunk, chunks_);
    if (task.kind == TaskKind::overlapped) {
      box.lower_color = color_of(paint_of(task.backward_kind), task.backward_chunk, chunks_);
      box.label = fmt::format("{}/{}", task.micro_batch, task.backward_micro_batch);
    } else if (task.stream == Stream::compute && task.kind != TaskKind::optimizer) {
      box.label = fmt::format("{}", task.micro_batch);
    }
    return box;
  }

  // A pass that is split at its communication is one pass of the order.
  [[nodiscard]] static bool continues(const Box& before, const Box& box) {
    return before.color == box.color && before.lower_color == box.lower_color &&
           before.label == box.label && box.x - before.x - before.width < 0.01;
  }

  // In order of time; neighbours of one color that cannot be told apart become one.
  [[nodiscard]] std::vector<Box> boxes(std::size_t device, Stream stream) const {
    std::vector<const Slice*> slices;
    for (const Slice& slice : evaluation_.step.slices) {
      if (static_cast<std::size_t>(std::max<std::int16_t>(slice.task.device, 0)) == device &&
          slice.task.stream == stream && slice.task.kind != TaskKind::send_receive) {
        slices.push_back(&slice);
      }
    }
    std::ranges::stable_sort(slices,
                             [](const Slice* a, const Slice* b) { return a->start < b->start; });
    std::vector<Box> boxes;
    for (const Slice* slice : slices) {
      Box box = box_of(*slice);
      if (ticks_ && !boxes.empty() && continues(boxes.back(), box)) {
        boxes.back().width += box.width;
        continue;
      }
      if (!boxes.empty() && boxes.back().color == box.color &&
          boxes.back().lower_color == box.lower_color && box.width < kNarrow &&
          box.x - boxes.back().x - boxes.back().width < kNarrow) {
        boxes.back().width = box.x + box.width - boxes.back().x;
        boxes.back().label.clear();
      } else {
        boxes.push_back(std::move(box));
      }
    }
    return boxes;
  }

  void rectangle(const Box& box, std::string_view color, double y, double height) {
    add("<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\"{}/>\n",
        kLeft + box.x, y, std::max(box.width, 0.05), height, color,
        box.width > 3.0 ? " stroke=\"#ffffff\" stroke-width=\"0.6\"" : "");
  }

  void draw_boxes(const std::vector<Box>& all, double y, double height) {
    for (const Box& box : all) {
      if (box.lower_color.empty()) {
        rectangle(box, box.color, y, height);
      } else {
        rectangle(box, box.color, y, height / 2.0);
        rectangle(box, box.lower_color, y + height / 2.0, height / 2.0);
      }
      if (box.width > kDigit * static_cast<double>(box.label.size()) + 3.0 && !box.label.empty()) {
        add("<text x=\"{:.2f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"10\">{}</text>\n",
            kLeft + box.x + box.width / 2.0, y + height / 2.0 + 3.5, box.label);
      }
    }
  }

  // Marks at 1, 2 or 5 times a power of ten, about ten of them.
  void draw_axis(double y) {
    constexpr double kMarks = 10.0;
    const double unit = static_cast<double>(ticks_ ? step::kTick.ns : 1);
    const double raw = std::max(static_cast<double>(end_.ns) / unit / kMarks, 1.0);
    const double power = std::pow(10.0, std::floor(std::log10(raw)));
    const double ratio = raw / power;
    const double nice = ratio <= 1.0 ? 1.0 : ratio <= 2.0 ? 2.0 : ratio <= 5.0 ? 5.0 : 10.0;
    const auto distance = static_cast<std::int64_t>(std::llround(nice * power * unit));
    for (SimTime mark; mark <= end_; mark.ns += distance) {
      const double x = kLeft + at(mark);
      add("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" "
          "stroke=\"#888888\"/>\n",
          x, y - 2.0, y + 3.0);
      add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" fill=\"#555555\">{}</text>\n", x,
          y + 15.0, mark == SimTime{} ? std::string("0") : in_axis_units(mark));
    }
  }

  [[nodiscard]] bool occurs(Paint paint) const {
    return std::ranges::any_of(evaluation_.step.slices, [paint](const Slice& slice) {
      const StepTask& task = slice.task;
      return task.kind != TaskKind::send_receive &&
             (paint_of(task) == paint ||
              (task.kind == TaskKind::overlapped && paint_of(task.backward_kind) == paint));
    });
  }

  void draw_legend(double y) {
    double x = kLeft;
    for (const Legend& legend : kLegends) {
      if (occurs(legend.paint)) {
        add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\" fill=\"{}\"/>\n", x,
            y - 9.0, color_of(legend.paint, 0, 1));
        text(x + 15.0, y, 11.0, legend.label);
        x += 34.0 + kDigit * static_cast<double>(legend.label.size());
      }
    }
  }

  const Evaluation& evaluation_;
  bool ticks_;
  std::size_t devices_;
  int chunks_;
  SimTime end_;
  bool has_lane_ = false;
  fmt::memory_buffer buffer_;
};

}  // namespace

std::string step_svg(const Evaluation& evaluation) { return Picture(evaluation, false).draw(); }

std::string schedule_svg(const Evaluation& evaluation) { return Picture(evaluation, true).draw(); }

}  // namespace orrery::report
