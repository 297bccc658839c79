// The C API, called at random by two threads that share an engine, a chat, a session and a parser: nothing crashes or waits without end,
// and every refusal is a status with a sentence. 200 sequences, 10,000 with SKIPSTONE_FULL_TESTS=1, or as many as
// SKIPSTONE_API_SEQUENCES says, from the seed SKIPSTONE_API_SEED on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "fixtures/temporary_directory.h"
#include "fixtures/tiny_model.h"
#include "fuzz/api/caller.h"

namespace skipstone::fuzz {
namespace {

constexpr int calls_of_a_caller = 25;

std::uint64_t number(const char* variable, std::uint64_t otherwise) {
  const char* given = std::getenv(variable);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

class ApiSequences : public testing::Test {
 protected:
  void SetUp() override {
    skipstone_set_log(
        [](int, const char*, void*) {
          skipstone_log_message(SKIPSTONE_LOG_WARNING, "from where messages go");
          static_cast<void>(skipstone_draft_is_lossless("suffix"));
        },
        nullptr);
    shared_.folder = folder_.path().string();
    shared_.model = folder_.file("tiny.gguf");
    fixtures::TinyConfig config;
    config.layers = 2;
    config.dim = config.ffn = 32;
    config.heads = 2;
    config.kv_heads = 1;
    config.context = 128;
    fixtures::write_tiny_model(config, shared_.model);
    skipstone_engine_params params;
    skipstone_engine_params_init(&params, sizeof(params));
    params.model_path = shared_.model.c_str();
    ASSERT_EQ(skipstone_engine_load(&params, &shared_.engine), SKIPSTONE_OK) << skipstone_last_error();
  }
  void TearDown() override {
    skipstone_engine_free(shared_.engine);
    skipstone_set_log(nullptr, nullptr);
  }

  void run(std::uint64_t seed) {
    skipstone_session_params params;
    skipstone_session_params_init(&params, sizeof(params));
    params.draft = "suffix";
    ASSERT_EQ(skipstone_session_create(shared_.engine, &params, &shared_.session), SKIPSTONE_OK) << skipstone_last_error();
    skipstone_chat_params chat;
    skipstone_chat_params_init(&chat, sizeof(chat));
    chat.chat_template = "chatml";
    ASSERT_EQ(skipstone_chat_create(shared_.engine, &chat, &shared_.chat), SKIPSTONE_OK) << skipstone_last_error();
    ASSERT_EQ(skipstone_chat_parser_create(shared_.chat, nullptr, &shared_.parser), SKIPSTONE_OK) << skipstone_last_error();
    const auto call = [&](std::uint64_t own) {
      Caller caller(shared_, own);
      for (int i = 0; i < calls_of_a_caller; ++i) caller.step();
      calls_ += caller.calls();
      refused_ += caller.refused();
    };
    std::thread other([&] { call(2 * seed + 1); });
    call(2 * seed);
    other.join();
    skipstone_chat_parser_free(std::exchange(shared_.parser, nullptr));
    skipstone_chat_free(std::exchange(shared_.chat, nullptr));
    skipstone_session_free(std::exchange(shared_.session, nullptr));
  }

  fixtures::TemporaryDirectory folder_;
  Shared shared_;
  std::atomic<std::uint64_t> calls_ = 0, refused_ = 0;
};

TEST_F(ApiSequences, AreRefusedWithASentenceOrDone) {
  const bool full = std::getenv("SKIPSTONE_FULL_TESTS") != nullptr;
  const std::uint64_t sequences = number("SKIPSTONE_API_SEQUENCES", full ? 10000 : 200), first = number("SKIPSTONE_API_SEED", 1);
  for (std::uint64_t seed = first; seed < first + sequences && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    if (std::getenv("SKIPSTONE_API_TRACE") != nullptr) std::fprintf(stderr, "sequence %llu\n", static_cast<unsigned long long>(seed));
    run(seed);
  }
  std::printf("%llu sequences: %llu calls, %llu of them refused\n", static_cast<unsigned long long>(sequences),
              static_cast<unsigned long long>(calls_.load()), static_cast<unsigned long long>(refused_.load()));
  EXPECT_GT(refused_.load() * 20, calls_.load()) << "hardly anything is refused";
  EXPECT_LT(refused_.load() * 10, calls_.load() * 9) << "hardly anything is done";
}

}  // namespace
}  // namespace skipstone::fuzz
