// What callbacks of a session may do, and what is refused: counts that no array has, sessions that are being used, the making of one ended.
#include <atomic>
#include <cstring>
#include <thread>

#include "e2e/session_steps.h"
#include "skipstone/skipstone_experimental.h"

namespace skipstone::e2e {
namespace {

constexpr std::size_t no_count = std::size_t{1} << 60;

class Callbacks : public Steps {
 protected:
  /// Counts its calls, and asks to stop in the `last` one; 0: never.
  struct Counted {
    int calls = 0, last = 0;
    static int on_progress(const char*, double, void* counted) {
      auto& self = *static_cast<Counted*>(counted);
      return ++self.calls == self.last ? 1 : 0;
    }
  };

  static skipstone_session* made(const skipstone_session_params& params) {
    skipstone_session* session = nullptr;
    EXPECT_EQ(skipstone_session_create(engine_->get(), &params, &session), SKIPSTONE_OK) << skipstone_last_error();
    return session;
  }

  const Tokens tokens_ = engine_->tokenize(prompt);
};

TEST_F(Callbacks, MakingASessionCanBeEndedBeforeEachOfItsDrafters) {
  for (const auto& [draft, members] : {std::pair{"suffix+lookup+recycle+jacobi", 4}, {"auto:suffix,lookup,asd", 3}, {"none", 1}}) {
    Counted counted;
    auto params = session_params();
    params.draft = draft;
    params.progress = &Counted::on_progress;
    params.user_data = &counted;
    skipstone_session_free(made(params));  // what the engine keeps of it is there from now on
    counted = {};
    skipstone_session_free(made(params));
    const int calls = counted.calls;
    EXPECT_GE(calls, members) << draft;
    for (int last = 1; last <= calls; ++last) {
      counted = {0, last};
      skipstone_session* session = nullptr;
      EXPECT_EQ(skipstone_session_create(engine_->get(), &params, &session), SKIPSTONE_CANCELLED) << draft << " " << last;
      EXPECT_EQ(session, nullptr);
      EXPECT_EQ(counted.calls, last) << draft;
    }
  }
}

TEST_F(Callbacks, SeeTheLengthFromBeforeTheirGeneration) {
  struct Seen {
    skipstone_session* session;
    std::vector<std::size_t> lengths;
  };
  for (const char* draft : {"none", "suffix", "exit:1"}) {
    auto params = session_params();
    params.draft = draft;
    Seen seen{made(params), {}};
    const auto look = [](const skipstone_chunk*, void* data) {
      auto& self = *static_cast<Seen*>(data);
      self.lengths.push_back(skipstone_session_length(self.session));
      return 0;
    };
    std::size_t before = 0;
    for (int turn = 0; turn < 2; ++turn) {
      seen.lengths.clear();
      ASSERT_EQ(skipstone_session_generate(seen.session, tokens_.data(), tokens_.size(), 6, look, &seen), SKIPSTONE_OK);
      EXPECT_FALSE(seen.lengths.empty());
      for (const std::size_t length : seen.lengths) EXPECT_EQ(length, before) << draft;
      before = skipstone_session_length(seen.session);
      EXPECT_GT(before, tokens_.size());
    }
    skipstone_session_free(seen.session);
  }
}

TEST_F(Callbacks, OneThatIsMakingOrMeasuringCannotRunTheEngine) {
  struct Reentered {
    skipstone_session* other;
    skipstone_status made, generated;
    std::string sentence;
  } reentered{made(session_params()), SKIPSTONE_OK, SKIPSTONE_OK, {}};
  auto params = session_params();
  params.draft = "suffix";
  params.user_data = &reentered;
  params.progress = [](const char*, double, void* data) {
    auto& self = *static_cast<Reentered*>(data);
    skipstone_session* inner = nullptr;
    self.made = skipstone_session_create(engine_->get(), nullptr, &inner);
    const skipstone_token token = 70;
    self.generated = skipstone_session_generate(self.other, &token, 1, 1, nullptr, nullptr);
    self.sentence = skipstone_last_error();
    return 0;
  };
  skipstone_session_free(made(params));
  EXPECT_EQ(reentered.made, SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(reentered.generated, SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_NE(reentered.sentence.find("whose callback this is"), std::string::npos) << reentered.sentence;
  skipstone_session_free(reentered.other);
}

TEST_F(Callbacks, FreeTheirOwnSessionWhichGoesWhenItsCallReturns) {
  struct Freed {
    skipstone_session* session = nullptr;
    int calls = 0;
    static int on_chunk(const skipstone_chunk*, void* data) {
      auto& self = *static_cast<Freed*>(data);
      ++self.calls;
      skipstone_session_free(self.session);
      return 0;
    }
    static skipstone_token on_sample(const float*, size_t, const skipstone_token*, size_t count, void* data) {
      ++static_cast<Freed*>(data)->calls;
      skipstone_session_free(static_cast<Freed*>(data)->session);
      return static_cast<skipstone_token>(60 + count % 7);
    }
  };
  for (const bool by_sampler : {false, true}) {
    for (const bool stepped : {false, true}) {
      Freed freed;
      auto params = session_params();
      params.draft = "suffix";
      if (by_sampler) params.sampler = &Freed::on_sample, params.sampler_data = &freed;
      freed.session = made(params);
      const auto chunk = by_sampler ? nullptr : &Freed::on_chunk;
      if (stepped) {
        ASSERT_EQ(skipstone_session_begin(freed.session, tokens_.data(), tokens_.size(), most, chunk, &freed), SKIPSTONE_OK);
        // Until the first callback has freed it: that step is the session's last call.
        for (int32_t done = 0; done == 0 && freed.calls == 0;) {
          ASSERT_EQ(skipstone_session_step(freed.session, 1000000, SKIPSTONE_STEP_WAIT, &done), SKIPSTONE_OK) << skipstone_last_error();
        }
      } else {
        EXPECT_EQ(skipstone_session_generate(freed.session, tokens_.data(), tokens_.size(), most, chunk, &freed), SKIPSTONE_OK);
      }
      EXPECT_GE(freed.calls, 1);
      EXPECT_LE(freed.calls, 8) << "the generation of a session that was freed goes on";
    }
  }
}

TEST_F(Callbacks, OfOneThreadKeepOtherThreadsAway) {
  Session session = open("none");
  session.generate(tokens_, 2, [&](const skipstone_chunk&) {
    EXPECT_EQ(skipstone_session_reset(session.get()), SKIPSTONE_INVALID_ARGUMENT);
    EXPECT_EQ(skipstone_session_set_stop(session.get(), nullptr, 0), SKIPSTONE_INVALID_ARGUMENT);
    skipstone_stats stats{};
    stats.struct_size = sizeof(stats);
    EXPECT_EQ(skipstone_session_stats(session.get(), &stats), SKIPSTONE_OK);
    std::thread([&] {
      EXPECT_EQ(skipstone_session_stats(session.get(), &stats), SKIPSTONE_INVALID_ARGUMENT);
      EXPECT_NE(std::strstr(skipstone_last_error(), "another thread"), nullptr) << skipstone_last_error();
      char* json = nullptr;
      EXPECT_EQ(skipstone_session_report(session.get(), &json), SKIPSTONE_INVALID_ARGUMENT);
      EXPECT_EQ(json, nullptr);
      std::size_t count = 1;
      EXPECT_EQ(skipstone_session_tokens(session.get(), &count), nullptr);
      EXPECT_EQ(count, 0u);
      EXPECT_EQ(skipstone_session_length(session.get()), 0u);
    }).join();
    return true;
  });
  EXPECT_GT(session.length(), tokens_.size());
}

TEST_F(Callbacks, FreeTheEngineWhoseTextIsBeingMade) {
  skipstone_engine_params params = engine_params();
  const std::string file = (directory_->path() / "tiny.gguf").string();
  params.model_path = file.c_str();
  skipstone_engine* engine = nullptr;
  ASSERT_EQ(skipstone_engine_load(&params, &engine), SKIPSTONE_OK);
  const std::string text(400000, 'a');
  skipstone_token* tokens = nullptr;
  std::size_t count = 0;
  const auto free_it = [](const char*, double, void* data) {
    auto& handle = *static_cast<skipstone_engine**>(data);
    skipstone_engine_free(std::exchange(handle, nullptr));
    return 0;
  };
  EXPECT_EQ(skipstone_tokenize_polled(engine, text.data(), text.size(), 1, 0, free_it, &engine, &tokens, &count), SKIPSTONE_OK);
  EXPECT_EQ(engine, nullptr);
  EXPECT_GT(count, 1000u);
  skipstone_tokens_free(tokens);
}

TEST_F(Callbacks, TokenizingEndsWhereItIsAskedTo) {
  const std::string text(1000000, 'a');
  int asked = 0;
  try {
    engine_->tokenize(text, true, true, [&] { return ++asked < 3; });
    ADD_FAILURE() << "it was not ended";
  } catch (const error& ended) {
    EXPECT_EQ(ended.status(), SKIPSTONE_CANCELLED);
  }
  EXPECT_EQ(asked, 3);
  const Tokens tokens(1000000, 70);
  EXPECT_THROW(engine_->detokenize(tokens, [] { return false; }), error);
  EXPECT_EQ(engine_->tokenize(prompt, true, true, [] { return true; }), engine_->tokenize(prompt));
}

TEST_F(Callbacks, CountsThatNoArrayHasAreRefused) {
  Session session = open("none");
  const skipstone_token token = 70;
  const char* const string = "x";
  EXPECT_EQ(skipstone_session_set_stop(session.get(), &string, no_count), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(skipstone_session_set_stop(session.get(), nullptr, 1), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(skipstone_session_prefill(session.get(), &token, no_count), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(skipstone_session_generate(session.get(), &token, no_count, 1, nullptr, nullptr), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(skipstone_session_begin(session.get(), &token, no_count, 1, nullptr, nullptr), SKIPSTONE_INVALID_ARGUMENT);
  char* text = nullptr;
  EXPECT_EQ(skipstone_detokenize(engine_->get(), &token, no_count << 2, &text, nullptr), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(skipstone_detokenize(engine_->get(), nullptr, 1, &text, nullptr), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_EQ(text, nullptr);
  std::size_t count = 0;
  EXPECT_EQ(skipstone_tokenize(engine_->get(), "x", no_count, 0, 0, nullptr, 0, &count), SKIPSTONE_INVALID_ARGUMENT);
  EXPECT_NE(std::strstr(skipstone_last_error(), "too many"), nullptr) << skipstone_last_error();
}

TEST_F(Callbacks, AMeasurementThatIsCancelledLeavesAnEmptyConversation) {
  Session session = open("none");
  skipstone_work work;
  skipstone_work_init(&work, sizeof(work));
  work.depth = 40;
  work.prompt = 40;
  double seconds = 0;
  session.cancel();
  EXPECT_EQ(skipstone_session_measure(session.get(), &work, &seconds), SKIPSTONE_CANCELLED);
  EXPECT_EQ(session.length(), 0u);
  Session fresh = open("none");
  EXPECT_EQ(text_of(session, tokens_, 8), text_of(fresh, tokens_, 8));
}

}  // namespace
}  // namespace skipstone::e2e
