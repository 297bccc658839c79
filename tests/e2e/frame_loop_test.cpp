// Text between the frames of a program that draws 60 a second and has 4 ms of each to give (docs/embedding.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "skipstone/skipstone.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;
using Seconds = std::chrono::duration<double>;

constexpr auto frame = std::chrono::duration_cast<Clock::duration>(Seconds(1.0 / 60));
constexpr auto budget = 4ms;
constexpr std::uint32_t most = 96;

struct Frames {
  std::string text;
  std::vector<double> seconds;  ///< that each frame gave
  std::size_t longer_than(double limit) const {
    return static_cast<std::size_t>(std::ranges::count_if(seconds, [&](double taken) { return taken > limit; }));
  }
};

std::string model_path() { return std::string(SKIPSTONE_MODELS) + "/skipstone-py.gguf"; }

skipstone::Session open(const skipstone::Engine& engine, const char* draft) {
  auto params = skipstone::session_params();
  params.draft = draft;
  return skipstone::Session(engine, params);
}

/// Frames until the text is complete.
Frames draw(skipstone::Session& session, const std::vector<skipstone_token>& tokens) {
  Frames frames;
  session.begin(tokens, most, [&](const skipstone_chunk& chunk) {
    frames.text.append(chunk.text, chunk.bytes);
    return true;
  });
  auto next = Clock::now();
  for (bool done = false; !done; next = std::max(next + frame, Clock::now())) {
    std::this_thread::sleep_until(next);
    const auto start = Clock::now();
    done = session.step(std::chrono::microseconds(budget).count());
    frames.seconds.push_back(Seconds(Clock::now() - start).count());
  }
  return frames;
}

TEST(FrameLoop, FramesKeepTheirBudgetAndTheTextIsTheSame) {
  auto params = skipstone::engine_params();
  const std::string model = model_path();
  params.model_path = model.c_str();
  const skipstone::Engine engine(params);
  std::string prompt = "def parse_header(line):\n    \"\"\"Split a header line into its name and its value.\"\"\"\n";
  while (prompt.size() < 900) prompt += "    # the name ends at the first colon, and what follows is the value\n";
  const auto tokens = engine.tokenize(prompt + "    name, value =");

  std::string expected;
  auto plain = open(engine, "none");
  const skipstone_stats stats = plain.generate(tokens, most, [&](const skipstone_chunk& chunk) {
    expected.append(chunk.text, chunk.bytes);
    return true;
  });
  const double one_row = stats.generation_seconds / static_cast<double>(stats.generated_tokens);

  for (const char* draft : {"none", "auto"}) {
    auto session = open(engine, draft);
    // Other programs may have the cores for a while: the best of three tries counts.
    double best = 1;
    for (int attempt = 0; attempt < 3 && best > 0.01; ++attempt) {
      session.reset();
      const Frames frames = draw(session, tokens);
      ASSERT_EQ(frames.text, expected) << draft;
      const std::size_t late = frames.longer_than(Seconds(budget).count() + one_row);
      best = std::min(best, static_cast<double>(late) / static_cast<double>(frames.seconds.size()));
      std::vector<double> sorted = frames.seconds;
      std::ranges::sort(sorted);
      std::printf(
          "%s: %zu tokens of prompt and %u more in %zu frames; a frame gave %.2f ms (median), %.2f ms (most); one row takes %.2f ms; "
          "%zu frames over 4 ms and a row\n",
          draft, tokens.size(), most, sorted.size(), 1e3 * sorted[sorted.size() / 2], 1e3 * sorted.back(), 1e3 * one_row, late);
    }
    EXPECT_LE(best, 0.01) << draft;
  }
}

}  // namespace
