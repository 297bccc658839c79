// SKIPSTONE_TEST_MATH=matrix: a device test's models decode on matrix units. Where device or build has none, all of its tests are skipped.
#pragma once

#include <gtest/gtest.h>

#include "base/env.h"
#include "gpu/test_device.h"
#include "kernels/selector.h"

namespace skipstone::fixtures {

inline bool on_matrices() { return env::get("SKIPSTONE_TEST_MATH") == "matrix"; }

class MatrixUnits : public ::testing::Environment {
  void SetUp() override {
    if (!on_matrices()) return;
    const vk::Device& device = *TestDevice::get().device;
    if (!kernels::Selector(device.caps(), device.tuning()).has_matrices()) {
      GTEST_SKIP() << "SKIPPED: no cooperative matrices on " << device.caps().name << ", or no kernels for them in this build";
    }
  }
};

inline ::testing::Environment* const matrix_units = ::testing::AddGlobalTestEnvironment(new MatrixUnits);

}  // namespace skipstone::fixtures
