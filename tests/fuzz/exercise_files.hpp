#pragma once

// Exercises the readers of all other files of the program. Each function reads a text as one kind
// of file and aborts (ORRERY_CHECK) when a promise of its reader is broken. Shared by the libFuzzer
// targets and by the test that replays seeds and mutations of them.

#include <array>
#include <string_view>

namespace orrery::fuzz {

void exercise_spot_trace(std::string_view text);
void exercise_failure_log(std::string_view text);
void exercise_kineto(std::string_view text);   // in parts of a file, packed or not
void exercise_journal(std::string_view text);  // of a sweep
void exercise_saved_answer(std::string_view text);
void exercise_import(std::string_view text);         // configurations of other stacks
void exercise_profile(std::string_view text);        // of a GPU or a stack, and collective tables
void exercise_samples(std::string_view text);        // the journal of a calibration
void exercise_benchmark_log(std::string_view text);  // of nccl-tests and nvbandwidth

struct Exercise {
  std::string_view name;
  void (*run)(std::string_view text);
};

inline constexpr std::array<Exercise, 9> kExercises = {{{"spot_trace", exercise_spot_trace},
                                                        {"failure_log", exercise_failure_log},
                                                        {"kineto", exercise_kineto},
                                                        {"journal", exercise_journal},
                                                        {"saved_answer", exercise_saved_answer},
                                                        {"import", exercise_import},
                                                        {"profile", exercise_profile},
                                                        {"samples", exercise_samples},
                                                        {"benchmark_log", exercise_benchmark_log}}};

}  // namespace orrery::fuzz
