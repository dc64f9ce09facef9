#pragma once

// Scenarios for tests of the desktop program, and waiting for what other threads do.

#include <QSignalSpy>
#include <QString>
#include <QStringList>
#include <functional>
#include <string>

namespace orrery::gui::testing {

// Llama 3 70B on 64 H100 with `tensor: 8`; data parallelism follows. 60 trials.
[[nodiscard]] std::string run_scenario();

// True as soon as the condition holds; false after half a minute.
[[nodiscard]] bool wait_for(const std::function<bool()>& condition);

[[nodiscard]] std::string replaced(std::string text, const std::string& from,
                                   const std::string& to);

void write_text(const QString& path, const std::string& text);
[[nodiscard]] std::string read_text(const QString& path);

// What `orrery` prints with these arguments; the process must end with code 0.
std::string printed(const QStringList& arguments);

// What `orrery run --json` prints about this file; the process must end with code 0.
[[nodiscard]] std::string printed_json(const QString& path);

}  // namespace orrery::gui::testing
