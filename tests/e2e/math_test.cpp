// How an engine multiplies: on matrix units where device and build have them, else it says why not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "skipstone/skipstone.hpp"

namespace {

namespace fixtures = skipstone::fixtures;

class Math : public testing::Test {
 protected:
  void SetUp() override { fixtures::write_tiny_model({}, model_); }

  skipstone_engine_params params(std::int32_t math) const {
    auto params = skipstone::engine_params();
    params.model_path = model_.c_str();
    params.math = math;
    return params;
  }
  static std::vector<skipstone_token> text(const skipstone::Engine& engine, const char* draft) {
    auto options = skipstone::session_params();
    options.draft = draft;
    skipstone::Session session(engine, options);
    session.generate({5, 6, 7, 8}, 24);
    return session.tokens();
  }

  fixtures::TemporaryDirectory folder_;
  std::string model_ = folder_.file("tiny.gguf");
};

TEST_F(Math, MatrixIsGivenOrRefusedWithTheReason) {
  const skipstone_engine_params wanted = params(SKIPSTONE_MATH_MATRIX);
  skipstone_engine* engine = nullptr;
  const skipstone_status status = skipstone_engine_load(&wanted, &engine);
  if (status == SKIPSTONE_OK) {
    skipstone_engine_free(engine);
    const skipstone::Engine on_matrices(wanted);
    EXPECT_EQ(text(on_matrices, "suffix"), text(on_matrices, "none"));
    return;
  }
  EXPECT_EQ(status, SKIPSTONE_UNSUPPORTED);
  EXPECT_EQ(engine, nullptr);
  EXPECT_EQ(std::string(skipstone_last_error()).rfind("decoding cannot use matrix units: ", 0), 0u) << skipstone_last_error();
}

TEST_F(Math, AutomaticStaysInFloatsOnCpuDevices) {
  const skipstone::Engine floats(params(SKIPSTONE_MATH_F32)), automatic(params(SKIPSTONE_MATH_AUTOMATIC));
  EXPECT_EQ(text(automatic, "none"), text(floats, "none"));
}

TEST_F(Math, WhatIsNoMathIsRefused) {
  for (const std::int32_t math : {-1, SKIPSTONE_MATH_AUTOMATIC + 1}) {
    const skipstone_engine_params wrong = params(math);
    skipstone_engine* engine = nullptr;
    EXPECT_EQ(skipstone_engine_load(&wrong, &engine), SKIPSTONE_INVALID_ARGUMENT);
    EXPECT_NE(std::string(skipstone_last_error()).find("none of skipstone_math"), std::string::npos) << skipstone_last_error();
  }
}

}  // namespace
