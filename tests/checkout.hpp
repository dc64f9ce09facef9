#pragma once

// Where is the checkout that is tested, and where was it built? Answered by one source of its own,
// so that all other tests are compiled alike in every checkout.

namespace orrery {

extern const char* const kSourceDir;
extern const char* const kBinaryDir;

}  // namespace orrery
