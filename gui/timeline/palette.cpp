#include "gui/timeline/palette.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::timeline {

namespace {

constexpr Rgb kOpaque = 0xff000000U;
constexpr Rgb kWhite = 0xffffffffU;
constexpr Rgb kBlack = 0xff000000U;

struct Inks {
  Category category = Category::none;
  Rgb light = 0;
  Rgb dark = 0;
};

// A wait has the hue of its cause; hatching tells it from the work.
constexpr std::array kInks = std::to_array<Inks>({
    {Category::forward, 0xff0b5cadU, 0xff3a8fe6U},
    {Category::training, 0xff0b5cadU, 0xff3a8fe6U},
    {Category::kernel, 0xff5e60ceU, 0xff8f91ebU},
    {Category::backward, 0xff5cc3f5U, 0xffb5dcfbU},
    {Category::input_gradient, 0xff2fa3dcU, 0xff8cc6f5U},
    {Category::weight_gradient, 0xff93d8f8U, 0xffd6ecfdU},
    {Category::recompute, 0xff33208aU, 0xff5a46daU},
    {Category::host, 0xffb4bac1U, 0xff7d858eU},
    {Category::other, 0xffccccccU, 0xff9a9a9aU},
    {Category::unitemised, 0xffccccccU, 0xff9a9a9aU},
    {Category::optimizer, 0xffb784b7U, 0xffd7a0cdU},
    {Category::scheduling, 0xffb784b7U, 0xffd7a0cdU},
    {Category::wait_imbalance, 0xffb784b7U, 0xffd7a0cdU},
    {Category::tensor, 0xffe08a00U, 0xfff5a524U},
    {Category::checkpoint, 0xffe08a00U, 0xfff5a524U},
    {Category::wait_tensor, 0xffe08a00U, 0xfff5a524U},
    {Category::context, 0xff5f3000U, 0xff7a5a2cU},
    {Category::wait_context, 0xff5f3000U, 0xff7a5a2cU},
    {Category::expert, 0xfff2d024U, 0xfff7ee8aU},
    {Category::detection, 0xfff2d024U, 0xfff7ee8aU},
    {Category::wait_expert, 0xfff2d024U, 0xfff7ee8aU},
    {Category::pipeline, 0xff0f9b78U, 0xff25cfa2U},
    {Category::wait_pipeline, 0xff0f9b78U, 0xff25cfa2U},
    {Category::data_reduce, 0xffc8430aU, 0xffe2581fU},
    {Category::wait_data, 0xffc8430aU, 0xffe2581fU},
    {Category::data_gather, 0xffde8e6cU, 0xffee9b79U},
    {Category::collective, 0xfff0c580U, 0xfffad292U},
    {Category::copy, 0xff4a5158U, 0xffc5ced8U},
    {Category::wait_bubble, 0xff4a5158U, 0xffc5ced8U},
    {Category::wait_slower, 0xff6d3fa0U, 0xff9f7be0U},
    {Category::wait_input, 0xff3f9f96U, 0xff2a6fb0U},
    {Category::stall, 0xff3f9f96U, 0xff2a6fb0U},
    {Category::wait_other, 0xff8d949bU, 0xff8a929aU},
    {Category::evaluation, 0xff7bcf8fU, 0xff5fe0b8U},
    {Category::maintenance, 0xff0a7d60U, 0xff1f9a78U},
    {Category::diagnosis, 0xff837722U, 0xffaa9e50U},
    {Category::communicator, 0xffdcc0dcU, 0xffe6d0e6U},
    {Category::load, 0xff8a4f8aU, 0xff96609aU},
    {Category::warm_up, 0xff5a2a5aU, 0xff6b3f70U},
    {Category::waiting, 0xff2c3035U, 0xff7b5c4aU},
    {Category::rework, 0xffd27c72U, 0xfff08a75U},
    {Category::discarded, 0xff5c0f07U, 0xff7c2311U},
    {Category::lost, 0xffa81c0cU, 0xffe2401fU},
});

static_assert(kInks.size() + 1 == kCategories, "each category but none has its inks");

std::array<Rgb, kCategories> inks(bool dark) {
  std::array<Rgb, kCategories> colors{};
  for (const Inks& ink : kInks) {
    colors[static_cast<std::size_t>(ink.category)] = dark ? ink.dark : ink.light;
  }
  return colors;
}

double channel(Rgb color, unsigned shift) { return static_cast<double>((color >> shift) & 0xffU); }

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
  palette.panel = 0xffeef1f4U;
  palette.text = 0xff1a1f26U;
  palette.faint_text = 0xff57626eU;
  palette.line = 0xffd3d9e0U;
  palette.selection = 0xff1a1f26U;
  palette.abnormal = 0xffe0007aU;
  palette.category = inks(false);
  palette.category[0] = palette.background;
  return palette;
}

Palette dark_palette() {
  Palette palette;
  palette.dark = true;
  palette.background = 0xff14181dU;
  palette.alternate = 0xff191e24U;
  palette.panel = 0xff1c2127U;
  palette.text = 0xffe5eaf0U;
  palette.faint_text = 0xffa0abb7U;
  palette.line = 0xff39424cU;
  palette.selection = 0xffffffffU;
  palette.abnormal = 0xffff4fb0U;
  palette.category = inks(true);
  palette.category[0] = palette.background;
  return palette;
}

Palette dimmed(Palette palette, CategorySet lit) {
  constexpr double kRest = 0.3;
  for (std::size_t kind = 1; kind < kCategories && lit != 0; ++kind) {
    if ((lit >> kind & 1U) == 0) {
      palette.category[kind] = blend(palette.background, palette.category[kind], kRest);
    }
  }
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
  constexpr double kGround = 0.15;  // of a hatched area
  constexpr double kStroke = 0.85;
  for (std::size_t kind = 0; kind < table_.size(); ++kind) {
    const Rgb color = kind < kCategories ? palette.category[kind] : palette.text;
    const bool waits = kind < kCategories && is_wait(static_cast<Category>(kind));
    for (unsigned level = 0; level < kLevels; ++level) {
      const double busy = static_cast<double>(level) / static_cast<double>(kLevels - 1);
      const double share = 0.25 + 0.75 * busy;
      table_[kind][level] =
          kind == 0 ? background : blend(background, color, waits ? kGround * share : share);
    }
    stroke_[kind] = waits ? blend(background, color, kStroke) : 0U;
    mixed_[kind] = blend(background, color, waits ? 0.45 : 1.0);
  }
}

}  // namespace orrery::timeline
