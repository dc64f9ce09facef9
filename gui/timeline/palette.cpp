#include "gui/timeline/palette.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::timeline {

namespace {

constexpr Rgb kOpaque = 0xff000000U;
constexpr Rgb kOrange = 0xffe69f00U;
constexpr Rgb kSkyBlue = 0xff56b4e9U;
constexpr Rgb kGreen = 0xff009e73U;
constexpr Rgb kYellow = 0xfff0e442U;
constexpr Rgb kBlue = 0xff0072b2U;
constexpr Rgb kVermilion = 0xffd55e00U;
constexpr Rgb kPurple = 0xffcc79a7U;
constexpr Rgb kIndigo = 0xff5e60ceU;  // kernels of which no pass is known
constexpr Rgb kGrey = 0xff999999U;
constexpr Rgb kWhite = 0xffffffffU;
constexpr Rgb kBlack = 0xff000000U;

std::array<Rgb, kCategories> hues() {
  std::array<Rgb, kCategories> colors{};
  colors.fill(kGrey);
  const auto set = [&colors](Category category, Rgb color) {
    colors[static_cast<std::size_t>(category)] = color;
  };
  set(Category::forward, kBlue);
  set(Category::backward, kSkyBlue);
  set(Category::input_gradient, blend(kSkyBlue, kBlack, 0.3));
  set(Category::weight_gradient, blend(kSkyBlue, kWhite, 0.55));
  set(Category::recompute, blend(kBlue, kBlack, 0.45));
  set(Category::optimizer, kPurple);
  set(Category::kernel, kIndigo);
  set(Category::tensor, kOrange);
  set(Category::context, blend(kOrange, kBlack, 0.4));
  set(Category::expert, kYellow);
  set(Category::pipeline, kGreen);
  set(Category::data_reduce, kVermilion);
  set(Category::data_gather, blend(kVermilion, kWhite, 0.45));
  set(Category::collective, blend(kOrange, kWhite, 0.5));
  set(Category::host, kGrey);
  set(Category::other, blend(kGrey, kWhite, 0.5));
  set(Category::copy, blend(kGreen, kWhite, 0.45));
  set(Category::stall, blend(kVermilion, kBlack, 0.35));
  set(Category::training, kBlue);
  set(Category::lost, kVermilion);
  set(Category::discarded, blend(kVermilion, kBlack, 0.35));
  set(Category::rework, blend(kVermilion, kWhite, 0.4));
  set(Category::checkpoint, kOrange);
  set(Category::evaluation, kGreen);
  set(Category::maintenance, blend(kGreen, kBlack, 0.4));
  set(Category::unitemised, kGrey);
  set(Category::detection, kYellow);
  set(Category::diagnosis, blend(kYellow, kBlack, 0.3));
  set(Category::waiting, blend(kGrey, kBlack, 0.45));
  set(Category::scheduling, kPurple);
  set(Category::communicator, blend(kPurple, kWhite, 0.4));
  set(Category::load, blend(kPurple, kBlack, 0.35));
  set(Category::warm_up, blend(kPurple, kBlack, 0.55));
  return colors;
}

double channel(Rgb color, unsigned shift) {
  return static_cast<double>((color >> shift) & 0xffU);
}

double luminance(Rgb color) {
  const auto linear = [](double value) {
    const double v = value / 255.0;
    return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(channel(color, 16)) + 0.7152 * linear(channel(color, 8)) +
         0.0722 * linear(channel(color, 0));
}

}  // namespace

Palette light_palette() {
  Palette palette;
  palette.background = 0xffffffffU;
  palette.alternate = 0xfff6f7f9U;
  palette.panel = 0xffeceff3U;
  palette.text = 0xff1b1f24U;
  palette.faint_text = 0xff56606bU;
  palette.line = 0xffd0d6ddU;
  palette.selection = 0xff1b1f24U;
  palette.abnormal = 0xffe0007aU;
  palette.category = hues();
  palette.category[0] = palette.background;
  return palette;
}

Palette dark_palette() {
  Palette palette;
  palette.dark = true;
  palette.background = 0xff14171bU;
  palette.alternate = 0xff191d22U;
  palette.panel = 0xff22272eU;
  palette.text = 0xffe6eaefU;
  palette.faint_text = 0xff9aa5b1U;
  palette.line = 0xff3a424cU;
  palette.selection = 0xffffffffU;
  palette.abnormal = 0xffff4fb0U;
  palette.category = hues();
  for (Rgb& color : palette.category) {
    // Dark hues would drown in a dark background.
    color = contrast(color, palette.background) < 3.0 ? blend(color, kWhite, 0.3) : color;
  }
  palette.category[0] = palette.background;
  return palette;
}

Rgb blend(Rgb from, Rgb to, double share) {
  Rgb mixed = kOpaque;
  for (const unsigned shift : {0U, 8U, 16U}) {
    const double value = channel(from, shift) + (channel(to, shift) - channel(from, shift)) * share;
    mixed |= static_cast<Rgb>(std::lround(std::clamp(value, 0.0, 255.0))) << shift;
  }
  return mixed;
}

double contrast(Rgb a, Rgb b) {
  const double first = luminance(a);
  const double second = luminance(b);
  const double low = std::min(first, second);
  const double high = std::max(first, second);
  return (high + 0.05) / (low + 0.05);
}

Rgb text_on(Rgb color) {
  return contrast(color, kWhite) >= contrast(color, kBlack) ? kWhite : kBlack;
}

Shades::Shades(const Palette& palette, Rgb background)
    : abnormal_(palette.abnormal), edge_(background) {
  for (std::size_t kind = 0; kind < table_.size(); ++kind) {
    const Rgb color = kind < kCategories ? palette.category[kind] : palette.text;
    table_[kind][0] = background;
    for (unsigned level = 0; level < kLevels; ++level) {
      const double busy = static_cast<double>(level) / static_cast<double>(kLevels - 1);
      table_[kind][level] = kind == 0 ? background : blend(background, color, 0.25 + 0.75 * busy);
    }
  }
}

}  // namespace orrery::timeline
