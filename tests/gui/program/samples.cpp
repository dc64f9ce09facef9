#include "tests/gui/program/samples.hpp"

#include <gtest/gtest.h>

#include <QFile>
#include <QProcess>
#include <QTest>

#include "tests/checkout.hpp"

namespace orrery::gui::testing {

namespace {

constexpr int kPatience = 30'000;  // ms

}  // namespace

std::string run_scenario() {
  return R"(# A comment that stays.
format: orrery/1
name: seventy billion
model: {preset: llama3-70b, sequence_length: 8192}
cluster:
  gpu: h100-sxm-80gb
  nodes: 8
  network: {preset: infiniband-400g}
layout:
  tensor: 8            # within a node
  sequence_parallel: true
  pipeline: 2
  sharding: zero1
  schedule: 1f1b
batch: {global: 256, micro: 1}
recompute: full
training: {tokens: 50B, start: 2026-01-01T00:00Z}
failures: {preset: rsc1-2024}
checkpoint:
  interval: 30min
  mode: sync
  storage: {write: 20GB/s, read: 20GB/s}
capacity: {spares: 1, repair_time: 2d}
prices: {gpu_hour: $2.50/h}
simulation: {trials: 60, seed: 1}
expect:
  - fits_memory
)";
}

bool wait_for(const std::function<bool()>& condition) {
  return QTest::qWaitFor(condition, kPatience);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void write_text(const QString& path, const std::string& text) {
  QFile file(path);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(QByteArray::fromStdString(text));
}

std::string read_text(const QString& path) {
  QFile file(path);
  EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << path.toStdString();
  return file.readAll().toStdString();
}

std::string printed(const QStringList& arguments) {
  QProcess process;
  process.start(QString(kBinaryDir) + "/bin/orrery", arguments);
  EXPECT_TRUE(process.waitForFinished(kPatience));
  EXPECT_EQ(process.exitCode(), 0) << process.readAllStandardError().toStdString();
  return process.readAllStandardOutput().toStdString();
}

std::string printed_json(const QString& path) {
  return printed({"run", "--json", "--quiet", path});
}

}  // namespace orrery::gui::testing
