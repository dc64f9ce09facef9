#pragma once

// Paths of the checkout under test and of its build. A single source defines them, so that all
// other tests compile alike in every checkout.

namespace orrery {

extern const char* const kSourceDir;
extern const char* const kBinaryDir;

}  // namespace orrery
