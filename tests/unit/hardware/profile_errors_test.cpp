#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/checkout.hpp"
#include "tests/unit/hardware/profile_files.hpp"

namespace orrery::hardware {
namespace {

// Messages of the document, without the path of the temporary file.
std::string gpu_errors(const std::string& text) {
  const ProfileFolder folder;
  const std::string file = folder.write("gpu/tiny.yaml", text).string();
  Diagnostics diagnostics;
  const auto profile =
      load_gpu_profile("tiny", folder.search(), kWhere, "cluster.gpu", diagnostics);
  EXPECT_EQ(profile.has_value(), !diagnostics.has_errors());
  std::string messages = to_string(diagnostics);
  for (std::size_t at = messages.find(file); at != std::string::npos; at = messages.find(file)) {
    messages.replace(at, file.size(), "tiny.yaml");
  }
  return messages;
}

std::string gpu_errors(std::string_view from, std::string_view to) {
  return gpu_errors(replaced(kTinyGpu, from, to));
}

TEST(ProfileErrors, TheTinyProfileIsValidAndCarriesItsSources) {
  const ProfileFolder folder;
  folder.write("gpu/tiny.yaml", kTinyGpu);
  Diagnostics diagnostics;
  const auto profile =
      load_gpu_profile("tiny", folder.search(), kWhere, "cluster.gpu", diagnostics);
  EXPECT_EQ(to_string(diagnostics), "");
  ASSERT_TRUE(profile.has_value());
  const GemmRate* bf16 = profile->find_gemm(model::Dtype::bf16);
  ASSERT_NE(bf16, nullptr);
  EXPECT_EQ(bf16->sustained.kind(), SourceKind::published);
  EXPECT_EQ(bf16->sustained.source().citation, "paper");
  EXPECT_DOUBLE_EQ(bf16->sustained.residual(), 0.02);
  ASSERT_TRUE(bf16->half_depth.range().has_value());
  EXPECT_TRUE(bf16->half_depth.range()->contains(8192.0));
  EXPECT_FALSE(bf16->half_depth.range()->contains(256.0));
  EXPECT_DOUBLE_EQ(in_gibibytes(profile->memory.value()), 8.0);
}

TEST(ProfileErrors, AGpuStatesTheCoefficientsThatAreItsOwn) {
  const auto with = [](const std::string& coefficients) {
    return replaced(kTinyGpu, "sm_count: 10\n", "sm_count: 10\ncoefficients: " + coefficients);
  };
  const ProfileFolder folder;
  folder.write("gpu/tiny.yaml",
               with("{call_time: {value: 9us, source: measured, citation: this card}}\n"));
  Diagnostics diagnostics;
  const auto profile =
      load_gpu_profile("tiny", folder.search(), kWhere, "cluster.gpu", diagnostics);
  ASSERT_TRUE(profile) << to_string(diagnostics);
  EXPECT_DOUBLE_EQ(in_microseconds(profile->coefficients().call_time), 9.0);
  EXPECT_EQ(profile->coefficients().wave_exponent, usual_coefficients(profile->arch).wave_exponent);
  EXPECT_TRUE(has(gpu_errors(with("{wave_exponent: {value: 2, source: measured, citation: x}}\n")),
                  "coefficients.wave_exponent.value: `2` is too large"));
  EXPECT_TRUE(has(gpu_errors(with("{wave_exponents: {value: 1, source: measured, citation: x}}\n")),
                  "coefficients.wave_exponents: unknown key"));
}

// One change of the tiny profile, and all that is said of it.
TEST(ProfileErrors, NameTheirPlaceTheKeyAndWhatIsAllowed) {
  const std::string memory = "{value: 8GiB, source: datasheet, citation: sheet}";
  const std::string range =
      "21:73: error: gemm.bf16.half_depth.range: needs two numbers, the lower one first (such as "
      "[1024, 16384])\n";

  const struct {
    std::string from;
    std::string to;
    std::string said;
  } rows[] = {
      {memory, "8GiB",
       "6:9: error: memory: is a bare value without its source (write {value: 0.9, source: "
       "assumed, citation: why})\n"},
      {memory, "{value: 8GiB, citation: sheet}",
       "6:9: error: memory.source: is required but missing (a name such as measured)\n"},
      {memory, "{value: 8GiB, source: datasheet}",
       "6:9: error: memory.citation: is required but missing (a text such as `arXiv 2407.21783, "
       "table 4`)\n"},
      {"{value: 8GiB, source: datasheet", "{value: 8GiB, source: given",
       "6:31: error: memory.source: `given` is not known (allowed: measured, published, "
       "datasheet, assumed)\n"},
      {"sm_count: 10\n", "sm_count: 10\nboost_clock: 2\n",
       "6:1: error: boost_clock: unknown key (allowed: format, name, full_name, names, arch, "
       "sold_as, sm_count, memory, hbm_bandwidth, memory_efficiency, launch_latency, "
       "host_bandwidth, pcie_bandwidth, power_watts, gemm, attention, attention_kernels, "
       "norm_kernels, scan_kernels, nvlink, mesh, coefficients)\n"},
      {"half_depth: {value: 100", "half_dept: {value: 100",
       "19:5: error: gemm.bf16.half_depth: is required but missing (a coefficient such as {value: "
       "0.9, source: assumed, citation: why})\n"
       "tiny.yaml:21:5: error: gemm.bf16.half_dept: unknown key (did you mean `half_depth`?)\n"},
      {"residual: 2%", "residuals: 2%",
       "20:71: error: gemm.bf16.sustained.residuals: unknown key (did you mean `residual`?)\n"},
      {"  forward: {value: 70TFLOP/s, source: published, citation: paper}\n", "",
       "23:3: error: attention.forward: is required but missing (a coefficient such as {value: "
       "0.9, source: assumed, citation: why})\n"},
      {"value: 500GB/s", "value: 500",
       "7:24: error: hbm_bandwidth.value: `500` has no unit (bits in Mbps Gbps Tbps or bytes in "
       "MB/s GB/s TB/s and GiB/s, such as 400Gbps or 3.35TB/s)\n"},
      {"value: 80TFLOP/s", "value: 120TFLOP/s",
       "20:16: error: gemm.bf16.sustained: is above the peak of the data type (at most 100 "
       "TFLOP/s)\n"},
      {"value: 80GB/s", "value: 101GB/s",
       "15:24: error: nvlink.nccl_ring_bandwidth: is above the link rate (at most 100 GB/s)\n"},
      {"nvls: false", "nvls: true",
       "16:9: error: nvlink.nvls: needs switches that reduce, which came with hopper (false)\n"},
      {"value: 70TFLOP/s", "value: 170TFLOP/s",
       "23:12: error: attention.forward: is above the 16-bit peak (at most 100 TFLOP/s)\n"},
      {"[512, 8192]", "[8192, 512]", range},
      {"[512, 8192]", "[512]", range},
      {"format: orrery-gpu/1", "format: orrery-software/1",
       "1:9: error: format: `orrery-software/1` is not known (allowed: orrery-gpu/1)\n"}};

  for (const auto& row : rows) {
    EXPECT_EQ(gpu_errors(row.from, row.to), "tiny.yaml:" + row.said);
  }
}

TEST(ProfileErrors, AMeshStatesItsLinksAndNoMore) {
  const std::string nvlink = "nvlink:\n";
  const std::string mesh =
      "mesh:\n  link_bandwidth: {value: 10GB/s, source: datasheet, citation: sheet}\n  peers: 7\n"
      "  ring_bandwidth: {value: 50GB/s, source: published, citation: log}\n";
  EXPECT_EQ(gpu_errors(nvlink, mesh + nvlink),
            "tiny.yaml:18:3: error: nvlink: is a link of NVIDIA's alone (mesh, where each pair has "
            "its own wires)\n");
  EXPECT_EQ(gpu_errors("arch: ampere", "arch: cdna"),
            "tiny.yaml:14:3: error: nvlink: is a link of NVIDIA's alone (mesh, where each pair has "
            "its own wires)\n");
}

TEST(ProfileErrors, AllProblemsAreReportedAtOnce) {
  std::string text = replaced(kTinyGpu, "value: 80TFLOP/s", "value: 120TFLOP/s");
  text = replaced(text, "arch: ampere", "arch: amper");
  text = replaced(text, "sm_count: 10", "sm_count: 0");
  const std::string messages = gpu_errors(text);
  EXPECT_EQ(std::count(messages.begin(), messages.end(), '\n'), 3) << messages;
}

TEST(ProfileErrors, AGpuWithoutAnyDataTypeIsRefused) {
  const std::size_t begin = kTinyGpu.find("gemm:");
  const std::size_t end = kTinyGpu.find("attention:");
  const std::string messages =
      gpu_errors(kTinyGpu.substr(0, begin) + "gemm: {}\n" + kTinyGpu.substr(end));
  EXPECT_EQ(messages,
            "tiny.yaml:17:7: error: gemm: has no data type (at least one of fp32, tf32, bf16, "
            "fp16, fp8, fp4)\n");
}

// A file cut off anywhere is refused with a message, never read as a smaller profile. (The last
// character is the final line break, without which the document is still whole.)
TEST(ProfileErrors, ATruncatedFileIsNeverAccepted) {
  for (std::size_t size = 0; size + 2 < kTinyGpu.size(); size += 7) {
    EXPECT_NE(gpu_errors(kTinyGpu.substr(0, size)), "") << "cut at " << size;
  }
}

// What belongs to one way of working only: score_passes to unfused attention, a time per broadcast
// to broadcasts. Elsewhere it has no effect; there it is required.
TEST(ProfileErrors, CoefficientsOfSoftwareFollowWhatItDoes) {
  const struct {
    std::string stack;
    std::string way;
    std::string other;
    std::string key;
    std::string said;
  } rows[] = {{"megatron-lm", "attention: unfused", "attention: fused", "score_passes",
               "has no effect with fused attention"},
              {"internevo", "parameter_gather: broadcast", "parameter_gather: all_gather",
               "broadcast_time", "has no effect without broadcasts"}};

  for (const auto& row : rows) {
    SCOPED_TRACE(row.stack);
    const std::string name = "software/" + row.stack + ".yaml";
    const std::string text = read_file(
        std::filesystem::path(kSourceDir) / "scenarios" / "profiles" / name, std::size_t{1} << 20U);
    const ProfileFolder folder;
    const auto load = [&](Diagnostics& diagnostics) {
      return load_software_profile(row.stack, folder.search(), kWhere, "software", diagnostics);
    };
    folder.write(name, replaced(text, row.way, row.other));
    Diagnostics diagnostics;
    const auto loaded = load(diagnostics);
    ASSERT_TRUE(loaded.has_value()) << to_string(diagnostics);
    ASSERT_EQ(diagnostics.all().size(), 1U);
    EXPECT_EQ(diagnostics.all()[0].severity, Severity::warning);
    EXPECT_EQ(diagnostics.all()[0].key, row.key);
    EXPECT_EQ(diagnostics.all()[0].message, row.said);
    if (row.key == "score_passes") {
      EXPECT_EQ(loaded->score_passes.value(), 0.0);
    } else {
      EXPECT_EQ(loaded->broadcast_time.value(), Seconds{});
    }
    folder.write(name, replaced(text, row.key + ":", row.key.substr(1) + ":"));
    Diagnostics missing;
    EXPECT_FALSE(load(missing).has_value());
    EXPECT_TRUE(has(to_string(missing), "error: " + row.key + ": is required but missing"));
  }
}

}  // namespace
}  // namespace orrery::hardware
