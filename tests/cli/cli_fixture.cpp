#include "tests/cli/cli_fixture.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "sim/base/files/file.hpp"
#include "tests/checkout.hpp"

namespace orrery::cli::testing {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOut = ".stdout";
constexpr std::string_view kErr = ".stderr";

std::string quoted(const std::string& text) { return "'" + text + "'"; }

}  // namespace

Finished CliTest::run(const std::string& arguments, const std::string& before,
                      const std::string& after) const {
  const std::string command =
      fmt::format("cd {} && {{ {} {} {} {} ; }} >{} 2>{}", quoted(folder_.string()), before,
                  quoted(program()), arguments, after, kOut, kErr);
  const int status = std::system(command.c_str());
  Finished finished;
  constexpr int kSignalBase = 128;
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalBase + WTERMSIG(status);
  finished.out = read(std::string(kOut));
  finished.err = read(std::string(kErr));
  return finished;
}

std::string CliTest::write(const std::string& name, const std::string& text) const {
  folder_.write(name, text);
  return name;
}

std::vector<std::string> CliTest::files() const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name != kOut && name != kErr) {
      names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string small_scenario(const std::string& expect) {
  const std::string text = R"(format: orrery/1
name: Small
model: {preset: llama2-7b, sequence_length: 4096}
cluster: {gpu: h100-sxm-80gb, nodes: 2, gpus_per_node: 8, network: {preset: infiniband-400g}}
layout: {tensor: 2, sequence_parallel: true, sharding: zero1}
batch: {global: 64, micro: 1}
precision: bf16
recompute: selective
training: {steps: 200000}
failures: {node_rate: 0.05/d}
recovery: {preset: rsc-2024}
checkpoint: {interval: auto}
capacity: {spares: 1}
prices: {gpu_hour: $2.50/h, as_of: 2026-11-01}
simulation: {trials: 50, seed: 3}
)";
  return expect.empty() ? text : text + "expect:\n" + expect;
}

std::string too_big_scenario(const std::string& expect) {
  const std::string text = R"(format: orrery/1
name: Too big
model: {preset: llama2-70b, sequence_length: 4096}
cluster: {gpu: h100-sxm-80gb, nodes: 1, gpus_per_node: 8, network: {preset: infiniband-400g}}
batch: {global: 8, micro: 1}
precision: bf16
)";
  return expect.empty() ? text : text + "expect:\n" + expect;
}

std::string program() { return std::string(kBinaryDir) + "/bin/orrery"; }

bool has_mpi() {
  return std::filesystem::exists(std::filesystem::path(program()).parent_path() / "orrery-mpi") &&
         std::system("mpirun --version >/dev/null 2>&1") == 0;
}

}  // namespace orrery::cli::testing
