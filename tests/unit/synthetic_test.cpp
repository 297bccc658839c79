// Synthetic models: shapes that configuration and tensors take, sizes that are those of the published ones.
#include "model/synthetic.h"

#include <gtest/gtest.h>

#include "base/status.h"
#include "model/config.h"

namespace skipstone::model {
namespace {

std::string refusal(const std::string& specification) {
  try {
    synthetic_model(specification);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::invalid_argument);
    return error.what();
  }
  return "(nothing was thrown)";
}

TEST(Synthetic, EveryShapeAndTypeIsAModel) {
  for (const SyntheticShape& shape : synthetic_shapes()) {
    for (const gguf::Traits& traits : gguf::all_traits()) {
      if (!traits.runnable) continue;
      const gguf::File file = synthetic_model(shape, traits.type);
      EXPECT_FALSE(file.has_data());
      const Config config = Config::from(file);
      EXPECT_EQ(config.layers, shape.layers) << shape.name;
      EXPECT_EQ(config.kv_heads, shape.kv_heads);
      EXPECT_EQ(config.tied_embeddings, shape.tied);
      EXPECT_EQ(find_tensors(file, config).layers.size(), shape.layers);
    }
  }
}

TEST(Synthetic, SizesAreThePublishedOnes) {
  // Parameters as the papers and model cards have them.
  const std::pair<const char*, double> published[] = {
      {"llama-2-7b:f16", 6.74e9}, {"llama-2-13b:f16", 13.02e9},  {"llama-2-70b:f16", 68.98e9},  {"mistral-7b:f16", 7.24e9},
      {"phi-3-mini:f16", 3.82e9}, {"smollm2-135m:f16", 134.5e6}, {"tinyllama-1.1b:f16", 1.10e9}};
  for (const auto& [name, parameters] : published) {
    EXPECT_NEAR(static_cast<double>(model_size(synthetic_model(name)).parameters) / parameters, 1.0, 0.005) << name;
  }
  const ModelSize size = model_size(synthetic_model("Llama-2-7B:Q4_0"));
  EXPECT_EQ(size.type, gguf::Type::q4_0);
  EXPECT_NEAR(static_cast<double>(size.bytes), 6.74e9 * 18 / 32, 0.01e9);
}

TEST(Synthetic, RowsThatDoNotDivideAreF16) {
  const gguf::File file = synthetic_model("stories-260k:q8_0");
  EXPECT_EQ(file.find_tensor("blk.0.ffn_up.weight")->type, gguf::Type::q8_0);
  EXPECT_EQ(file.find_tensor("blk.0.ffn_down.weight")->type, gguf::Type::f16);  // rows of 172
}

TEST(Synthetic, FingerprintsDiffer) {
  EXPECT_EQ(synthetic_model("llama-2-7b:q4_0").fingerprint(), synthetic_model("LLAMA-2-7B:Q4_0").fingerprint());
  EXPECT_NE(synthetic_model("llama-2-7b:q4_0").fingerprint(), synthetic_model("llama-2-7b:q8_0").fingerprint());
  EXPECT_EQ(synthetic_model("llama-2-7b:q4_0").fingerprint().size(), 16u);
}

TEST(Synthetic, BadNames) {
  for (const char* bad : {"gpt-5:q4_0", "", ":q4_0", "llama-2-7b "}) EXPECT_NE(refusal(bad).find("smollm2-135m"), std::string::npos) << bad;
  for (const char* bad : {"llama-2-7b", "llama-2-7b:", "llama-2-7b:q9", "llama-2-7b:q8_1"}) {
    EXPECT_NE(refusal(bad).find("f32, f16, "), std::string::npos) << refusal(bad);
  }
}

}  // namespace
}  // namespace skipstone::model
