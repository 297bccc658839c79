// The mappings of GPUs on a CPU driver: what a device is taken for, and the texts of all mappings beside each other. docs/numerics.md says
// where texts of two mappings may differ; those here have no tie that near.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"
#include "fixtures/slow_device.h"
#include "fixtures/system.h"
#include "vk/tuning.h"

namespace skipstone::engine {
namespace {

using text::Token;

struct Profile {
  const char* name;
  std::uint32_t vendor, lanes;
};

/// On the device as it is where `profile` is null.
std::shared_ptr<Engine> load(const char* profile) {
  struct Posing {
    explicit Posing(const char* as) {
      if (as != nullptr) fixtures::set_variable("SKIPSTONE_PROFILE", as);
    }
    ~Posing() { fixtures::unset_variable("SKIPSTONE_PROFILE"); }
  } const posing(profile);
  EngineOptions options;
  options.model_path = std::string(SKIPSTONE_MODELS) + "/skipstone-py.gguf";
  options.context = 512;
  return Engine::load(options);
}

std::vector<Token> text_of(const std::shared_ptr<Engine>& engine, const std::string& prompt, const char* draft, std::uint32_t tokens) {
  SessionOptions options;
  options.draft = draft;
  Session session(engine, options);
  return session.generate(engine->tokenizer().encode(prompt, true, false), tokens, {}).tokens;
}

class Profiles : public testing::TestWithParam<Profile> {};

TEST_P(Profiles, GiveTheTextsOfTheCpusMapping) {
  const auto cpu = load(nullptr), gpu = load(GetParam().name);
  const vk::Caps& caps = gpu->device();
  EXPECT_EQ(caps.vendor_id, GetParam().vendor);
  EXPECT_FALSE(caps.is_cpu());
  const vk::Tuning tuning = vk::tuning_for(caps);
  EXPECT_EQ(tuning.matvec_k_lanes, GetParam().lanes);
  EXPECT_TRUE(tuning.tiled_prefill);
  EXPECT_EQ(vk::tuning_for(cpu->device()).matvec_k_lanes, 1u) << "the mapping beside which the texts stand is another one";
  const bool full = fixtures::full_sweep();
  const std::uint32_t tokens = full ? 32 : 16;
  const std::pair<const char*, const char*> prompts[] = {{"def binary_search(items, target):", "asd"},
                                                         {"class Stack:\n    def __init__(self):\n", "exit:7,k=5"}};
  for (const auto& [prompt, drafter] : prompts) {
    const auto wanted = text_of(cpu, prompt, "none", tokens);
    EXPECT_EQ(wanted.size(), tokens);
    EXPECT_EQ(text_of(gpu, prompt, drafter, tokens), wanted) << drafter << ": " << prompt;
    if (full) {
      EXPECT_EQ(text_of(gpu, prompt, "none", tokens), wanted) << prompt;
    }
  }
  EXPECT_EQ(gpu->validation_messages(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Gpus, Profiles,
                         testing::Values(Profile{"amd64", 0x1002, 64}, Profile{"nvidia32", 0x10de, 32}, Profile{"intel16", 0x8086, 16}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ProfileNames, UnknownOnesAreNamed) {
  try {
    load("h100\n");
    FAIL() << "there is no such profile";
  } catch (const Error& failure) {
    const std::string sentence = failure.what();
    for (const char* part : {"SKIPSTONE_PROFILE=h100\\n", "amd64", "nvidia32", "intel16"}) {
      EXPECT_NE(sentence.find(part), std::string::npos) << sentence;
    }
  }
}

}  // namespace
}  // namespace skipstone::engine
