// A device that is lost in the middle of a text: a status, and an engine that is loaded afterwards in the same program writes the right
// one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "fixtures/failure.h"
#include "fixtures/system.h"
#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"

namespace skipstone::engine {
namespace {

using text::Token;

class DeviceLoss : public testing::Test {
 protected:
  DeviceLoss() { fixtures::write_tiny_model({}, file_); }

  /// `lose_at`: the submission of its device that is lost; 0: none.
  std::shared_ptr<Engine> load(int lose_at) const {
    if (lose_at > 0) fixtures::set_variable("SKIPSTONE_TEST_DEVICE_LOST", std::to_string(lose_at));
    struct Unset {
      ~Unset() { fixtures::unset_variable("SKIPSTONE_TEST_DEVICE_LOST"); }
    } unset;
    EngineOptions options;
    options.model_path = file_;
    options.context = 64;
    return Engine::load(options);
  }

  static std::unique_ptr<Session> open(const std::shared_ptr<Engine>& engine) {
    SessionOptions options;
    options.draft = "exit:2,k=3";
    return std::make_unique<Session>(engine, options);
  }

  static std::vector<Token> generate(Session& session, const Engine& engine, std::vector<Token>* so_far = nullptr) {
    return session
        .generate(engine.tokenizer().encode("the quick brown fox", true, false), 30,
                  [&](const auto& emitted) {
                    if (so_far != nullptr) so_far->push_back(emitted.token);
                    return true;
                  })
        .tokens;
  }

  fixtures::TemporaryDirectory directory_;
  std::string file_ = directory_.file("tiny.gguf");
};

TEST_F(DeviceLoss, InATextIsAStatusAndTheNextEngineWritesIt) {
  std::vector<Token> expected;
  {
    const auto engine = load(0);
    expected = generate(*open(engine), *engine);
  }
  ASSERT_GT(expected.size(), 10u);
  int while_loading = 0, in_the_text = 0;
  for (int lose_at = 1; in_the_text < 2; lose_at += 7) {
    ASSERT_LT(lose_at, 300) << "no submission was lost within a text";
    SCOPED_TRACE(lose_at);
    std::shared_ptr<Engine> doomed;
    std::unique_ptr<Session> session, other;
    const fixtures::Failure loading = fixtures::failure_of([&] {
      doomed = load(lose_at);
      other = open(doomed);
      session = open(doomed);
    });
    if (loading.code != Code::ok) {
      EXPECT_EQ(loading.code, Code::device_lost) << loading.message;
      ++while_loading;
      continue;
    }
    std::vector<Token> so_far;
    const fixtures::Failure failure = fixtures::failure_of([&] { generate(*session, *doomed, &so_far); });
    ASSERT_EQ(failure.code, Code::device_lost) << failure.message;
    ASSERT_LT(so_far.size(), expected.size());
    EXPECT_EQ(so_far, std::vector<Token>(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(so_far.size())));
    in_the_text += so_far.empty() ? 0 : 1;
    // The device stays lost, for the engine's other sessions too; one that is new is not.
    EXPECT_EQ(fixtures::failure_of([&] { generate(*other, *doomed); }).code, Code::device_lost);
    EXPECT_EQ(fixtures::failure_of([&] { open(doomed); }).code, Code::device_lost);
    const auto fresh = load(0);
    const auto next = open(fresh);
    doomed.reset();
    session.reset();
    EXPECT_EQ(generate(*next, *fresh), expected);
    other.reset();
    EXPECT_EQ(fresh->validation_messages(), 0u);
  }
  EXPECT_GT(while_loading, 0);
}

}  // namespace
}  // namespace skipstone::engine
