// What a model file recommends of sampling.
#include <gtest/gtest.h>

#include <string>

#include "fixtures/temporary_directory.h"
#include "skipstone/skipstone.hpp"
#include "unit/edited_model.h"

namespace {

TEST(RecommendedSampling, TakesThePlaceOfDefaultsWhereTheFileHasAny) {
  const skipstone::fixtures::TemporaryDirectory directory;
  const std::string file = (directory.path() / "model.gguf").string();
  skipstone::tests::EditedModel model;
  model.set("general.sampling.temp", 0.6f).set("general.sampling.top_k", std::int32_t{20}).set("general.sampling.top_p", 7.0f);
  model.write(file);
  auto params = skipstone::engine_params();
  params.model_path = file.c_str();
  const skipstone::Engine engine(params);
  auto sampling = skipstone::session_params();
  sampling.draft = "suffix";
  const auto defaults = sampling;
  skipstone::check(skipstone_session_params_recommend(engine.get(), &sampling));
  EXPECT_FLOAT_EQ(sampling.temperature, 0.6f);
  EXPECT_EQ(sampling.top_k, 20u);
  EXPECT_EQ(sampling.top_p, defaults.top_p) << "7 is no share";
  EXPECT_EQ(sampling.min_p, defaults.min_p);
  EXPECT_STREQ(sampling.draft, "suffix");
  sampling.struct_size = 0;
  EXPECT_EQ(skipstone_session_params_recommend(engine.get(), &sampling), SKIPSTONE_INVALID_ARGUMENT);
}

}  // namespace
