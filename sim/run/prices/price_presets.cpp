// Dated prices. Every figure was read on a page of the vendor or of a tool that quotes its price
// file; a preset without a date would be a number without a meaning.

#include <algorithm>
#include <array>

#include "sim/run/prices/price_spec.hpp"

namespace orrery::run {

namespace {

std::array<PricePreset, 7> make_price_presets() {
  return {
      {{.name = "aws-p5-h100-2026",
        .summary = "H100 SXM on demand, p5.48xlarge in us-east-1: $55.04/h for 8 GPUs",
        .source = "public price data file of AWS, retrieved 2026-11-09",
        .as_of = "2026-11-09",
        .gpu_hour = dollars_per_hour(6.88),
        .spot_gpu_hour = std::nullopt},
       {.name = "aws-p5en-h200-2026",
        .summary = "H200 SXM, p5en.48xlarge in the USA: $63.296/h on demand, $26.57 to $27.20/h "
                   "spot (the middle) for 8 GPUs",
        .source = "dstack pull request 4110, 2026-08",
        .as_of = "2026-08-01",
        .gpu_hour = dollars_per_hour(63.296 / 8.0),
        .spot_gpu_hour = dollars_per_hour(0.5 * (26.57 + 27.20) / 8.0)},
       {.name = "aws-p4de-a100-2026",
        .summary = "A100 80 GB on demand, p4de.24xlarge",
        .source = "public price data file of AWS, retrieved 2026-11-09",
        .as_of = "2026-11-09",
        .gpu_hour = dollars_per_hour(3.43),
        .spot_gpu_hour = std::nullopt},
       {.name = "aws-p4d-a100-2026",
        .summary = "A100 40 GB on demand, p4d.24xlarge",
        .source = "public price data file of AWS, retrieved 2026-11-09",
        .as_of = "2026-11-09",
        .gpu_hour = dollars_per_hour(2.74),
        .spot_gpu_hour = std::nullopt},
       {.name = "azure-h100-nvl-2026",
        .summary = "H100 NVL on demand, one GPU",
        .source = "public price data file, retrieved 2026-11-09",
        .as_of = "2026-11-09",
        .gpu_hour = dollars_per_hour(6.98),
        .spot_gpu_hour = std::nullopt},
       {.name = "digitalocean-mi300x-2026",
        .summary = "MI300X on demand, one GPU (gpu-mi300x1-192gb), list price",
        .source = "DigitalOcean API as collected in the data set tokenwatt/gpu-cloud-prices",
        .as_of = "2026-10-08",
        .gpu_hour = dollars_per_hour(2.59),
        .spot_gpu_hour = std::nullopt},
       {.name = "runpod-h100-pcie-2026",
        .summary = "H100 PCIe on demand, one GPU, Secure Cloud",
        .source = "runpod.io/pricing as read by datareceipts/data-receipts, retrieved 2026-11-09",
        .as_of = "2026-11-09",
        .gpu_hour = dollars_per_hour(2.89),
        .spot_gpu_hour = std::nullopt}}};
}

}  // namespace

std::span<const PricePreset> price_presets() {
  static const std::array<PricePreset, 7> kPresets = make_price_presets();
  return kPresets;
}

const PricePreset* find_price_preset(std::string_view name) {
  const std::span<const PricePreset> presets = price_presets();
  const auto found = std::find_if(
      presets.begin(), presets.end(), [&](const PricePreset& p) { return p.name == name; });
  return found == presets.end() ? nullptr : &*found;
}

}  // namespace orrery::run
