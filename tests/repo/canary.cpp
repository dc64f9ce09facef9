#include <gtest/gtest.h>

// The test that must fail: ctest turns its failure into a pass (WILL_FAIL). When the harness stops
// reporting failures, repo.canary fails.

TEST(Canary, MustFail) { EXPECT_EQ(1 + 1, 3); }
