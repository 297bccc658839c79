// The whole loop with rejection verification on a device: drafts of the model's own layers, and drafts that no pass has made, leave the
// distribution of plain sampling as it is.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "stats/chi_square.h"

namespace skipstone::stats_test {
namespace {

using Continuation = std::vector<text::Token>;

class Loop : public ::testing::Test {
 protected:
  void SetUp() override {
    fixtures::TinyConfig tiny;
    tiny.layers = 2;
    tiny.heads = 2;
    tiny.kv_heads = 1;
    tiny.dim = 32;
    tiny.ffn = 32;
    tiny.context = 32;
    tiny.type = gguf::Type::f16;
    fixtures::write_tiny_model(tiny, directory_.file("tiny.gguf"));
    engine::EngineOptions options;
    options.model_path = directory_.file("tiny.gguf");
    engine_ = engine::Engine::load(options);
  }

  /// How often each continuation of four tokens came out, over `seeds` seeds.
  std::map<Continuation, std::uint64_t> continuations(const std::string& draft, sample::Verification verification, std::uint64_t first_seed,
                                                      std::uint64_t* accepted) {
    std::map<Continuation, std::uint64_t> counts;
    for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
      engine::SessionOptions options;
      options.sampling.temperature = 1.0f;
      options.sampling.top_k = 3;
      options.sampling.top_p = 1.0f;
      options.sampling.seed = seed;
      options.draft = draft;
      options.verification = verification;
      engine::Session session(engine_, options);
      const speculation::Outcome outcome = session.generate({1, 70, 80, 90}, 4, {});
      ++counts[outcome.tokens];
      if (accepted != nullptr) *accepted += outcome.stats.accepted;
    }
    return counts;
  }

  static double deviation(const std::map<Continuation, std::uint64_t>& a, const std::map<Continuation, std::uint64_t>& b) {
    std::map<Continuation, std::pair<std::uint64_t, std::uint64_t>> both;
    for (const auto& [tokens, count] : a) both[tokens].first = count;
    for (const auto& [tokens, count] : b) both[tokens].second = count;
    std::vector<std::uint64_t> x, y;
    for (const auto& [tokens, counts] : both) {
      x.push_back(counts.first);
      y.push_back(counts.second);
    }
    return two_samples(x, y).deviation();
  }

  static constexpr std::uint64_t seeds = 600;
  fixtures::TemporaryDirectory directory_;
  std::shared_ptr<engine::Engine> engine_;
};

TEST_F(Loop, RejectionKeepsTheDistributionOfPlainSampling) {
  std::uint64_t accepted = 0;
  const auto plain = continuations("none", sample::Verification::coupled, 0, nullptr);
  const auto rejection = continuations("exit:1,k=3,gamma=0", sample::Verification::rejection, 100'000, &accepted);
  EXPECT_GT(plain.size(), 10u);
  EXPECT_GT(accepted, seeds / 4);
  EXPECT_LT(deviation(plain, rejection), 4.5);
}

TEST_F(Loop, TheSameSeedGivesTheSameText) {
  engine::SessionOptions options;
  options.sampling.temperature = 1.0f;
  options.sampling.seed = 7;
  options.draft = "exit:1,k=4";
  options.verification = sample::Verification::rejection;
  engine::Session session(engine_, options);
  const auto first = session.generate({1, 70, 80}, 20, {}).tokens;
  session.reset();
  EXPECT_EQ(session.generate({1, 70, 80}, 20, {}).tokens, first);
  engine::Session other(engine_, options);
  EXPECT_EQ(other.generate({1, 70, 80}, 20, {}).tokens, first);
}

}  // namespace
}  // namespace skipstone::stats_test
