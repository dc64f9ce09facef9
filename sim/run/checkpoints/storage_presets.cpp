#include <algorithm>
#include <array>

#include "sim/run/checkpoints/checkpoint_spec.hpp"

namespace orrery::run {

namespace {

StorageSpec aggregate(BytesPerSecond write, BytesPerSecond read) {
  StorageSpec spec;
  spec.write = write;
  spec.read = read;
  return spec;
}

// 2,294.8 GiB in 40 s: 61.6 GB/s, which is 160 MB/s for each of 384 processes. Reading was not
// published and taken as fast as writing.
StorageSpec bloom_storage() {
  StorageSpec spec = aggregate(gigabytes_per_second(61.6), gigabytes_per_second(61.6));
  spec.write_per_client = gigabytes_per_second(61.6) / 384.0;
  spec.read_per_client = spec.write_per_client;
  return spec;
}

// What 504 GPUs reached: 16 % of 250 GB/s writing and 21.5 % of 700 GB/s reading.
StorageSpec nfs_504() {
  return aggregate(0.16 * gigabytes_per_second(250.0), 0.215 * gigabytes_per_second(700.0));
}

std::array<StoragePreset, 5> make_storage_presets() {
  return {{{.name = "llama3-tectonic-2024",
            .summary = "2 TB/s sustained",
            .source = "Llama 3 (arXiv 2407.21783) sec. 3.3.1: 240 PB on 7,500 servers, 2 TB/s "
                      "sustained",
            .spec = aggregate(terabytes_per_second(2.0), terabytes_per_second(2.0))},
           {.name = "llama3-tectonic-peak-2024",
            .summary = "7 TB/s in bursts",
            .source = "Llama 3 (arXiv 2407.21783) sec. 3.3.1: 7 TB/s peak",
            .spec = aggregate(terabytes_per_second(7.0), terabytes_per_second(7.0))},
           {.name = "bloom-gpfs-2022",
            .summary = "61.6 GB/s, 160 MB/s per process",
            .source = "BigScience tr11-176B chronicles: 2,294.8 GiB in 40 s from 384 processes; "
                      "reading assumed as fast as writing",
            .spec = bloom_storage()},
           {.name = "b200-nfs-2026",
            .summary = "40 GB/s writing, 150 GB/s reading",
            .source = "504 B200 on NFS (arXiv 2605.09370), as quoted by public notes: 16 % of a "
                      "nominal 250 GB/s written, 21.5 % of 700 GB/s read over 523 checkpoints",
            .spec = nfs_504()},
           {.name = "production-2025",
            .summary = "100 GB/s",
            .source = "geometric middle of the 50 to 200 GB/s that one storage vendor states for "
                      "about 40 production runs, as quoted by public notes",
            .spec = aggregate(gigabytes_per_second(100.0), gigabytes_per_second(100.0))}}};
}

}  // namespace

std::span<const StoragePreset> storage_presets() {
  static const std::array<StoragePreset, 5> kPresets = make_storage_presets();
  return kPresets;
}

const StoragePreset* find_storage_preset(std::string_view name) {
  const std::span<const StoragePreset> presets = storage_presets();
  const auto found = std::find_if(
      presets.begin(), presets.end(), [&](const StoragePreset& p) { return p.name == name; });
  return found == presets.end() ? nullptr : &*found;
}

}  // namespace orrery::run
