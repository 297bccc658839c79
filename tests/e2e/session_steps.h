// What the tests of sessions share: an engine on a tiny model, a prompt, and every kind of drafter.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fixtures/slow_device.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "skipstone/skipstone.hpp"

namespace skipstone::e2e {

using Tokens = std::vector<skipstone_token>;

/// Every way of drafting: none, passes, chains of both, lookups, trees, blocks. On SwiftShader, which is slow, one of each cost.
inline const std::vector<const char*> drafters = [] {
  std::vector<const char*> all{"none",           "exit:2,k=3", "suffix", "auto", "lookup", "skip:attn:1;mlp:2,k=4", "suffix+exit:2,k=2",
                               "ngram:unigram=1"};
  if (fixtures::slow_device()) all.resize(3);
  return all;
}();
inline constexpr const char* prompt = "the quick brown fox and the quick brown dog and the quick";
inline constexpr std::uint32_t most = 40;

class Steps : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new fixtures::TemporaryDirectory;
    const std::string file = (directory_->path() / "tiny.gguf").string();
    fixtures::TinyConfig config;
    config.layers = 3;
    config.dim = config.ffn = 32;
    config.heads = 2;
    config.kv_heads = 1;
    config.context = 256;
    config.tied = false;
    fixtures::write_tiny_model(config, file);
    auto params = engine_params();
    params.model_path = file.c_str();
    engine_ = new Engine(params);
  }
  static void TearDownTestSuite() {
    delete engine_;
    delete directory_;
    engine_ = nullptr;
    directory_ = nullptr;
  }

  static Session open(const char* draft, float temperature = 0) {
    auto params = session_params();
    params.draft = draft;
    params.temperature = temperature;
    params.seed = 11;
    return Session(*engine_, params);
  }

  static std::string text_of(Session& session, const Tokens& tokens, std::uint32_t count) {
    std::string text;
    session.generate(tokens, count, [&](const skipstone_chunk& chunk) {
      text.append(chunk.text, chunk.bytes);
      return true;
    });
    return text;
  }

  static inline Engine* engine_ = nullptr;
  static inline fixtures::TemporaryDirectory* directory_ = nullptr;
};

}  // namespace skipstone::e2e
