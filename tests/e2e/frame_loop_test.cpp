// Text between the frames of a program that draws 60 a second and has 4 ms of each to give (docs/embedding.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "skipstone/skipstone.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t most = 96;

struct Frames {
  std::string text;
  std::vector<double> seconds;  ///< that each frame gave
};

skipstone::Session open(const skipstone::Engine& engine, const char* draft) {
  auto params = skipstone::session_params();
  params.draft = draft;
  return skipstone::Session(engine, params);
}

/// Steps of `budget` each until the text is complete.
Frames draw(skipstone::Session& session, const std::vector<skipstone_token>& tokens, std::chrono::microseconds budget) {
  Frames frames;
  session.begin(tokens, most, [&](const skipstone_chunk& chunk) {
    frames.text.append(chunk.text, chunk.bytes);
    return true;
  });
  for (bool done = false; !done;) {
    const auto start = std::chrono::steady_clock::now();
    done = session.step(budget.count());
    frames.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return frames;
}

TEST(FrameLoop, AStepDoesWhatItsTimeAdmitsAndTheTextIsTheSame) {
  auto params = skipstone::engine_params();
  const std::string model = std::string(SKIPSTONE_MODELS) + "/skipstone-py.gguf";
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

  for (const char* draft : {"none", "auto"}) {
    auto session = open(engine, draft);
    std::vector<std::size_t> steps;
    for (const std::chrono::microseconds budget : {0us, 4000us, 60'000'000us}) {
      session.reset();
      Frames frames = draw(session, tokens, budget);
      EXPECT_EQ(frames.text, expected) << draft << ", " << budget.count() << " us";
      steps.push_back(frames.seconds.size());
      std::ranges::sort(frames.seconds);
      std::printf("%s: %zu tokens of prompt and %u more in %zu steps of %.0f ms; a step took %.2f ms (median), %.2f ms (most)\n", draft,
                  tokens.size(), most, steps.back(), 1e-3 * static_cast<double>(budget.count()), 1e3 * frames.seconds[steps.back() / 2],
                  1e3 * frames.seconds.back());
    }
    // Without time a step runs one slice, which is a layer: a pass takes many steps.
    EXPECT_GT(steps[0], 1u) << draft;
    if (draft == std::string_view("none")) {
      EXPECT_GE(steps[0], 2 * stats.generated_tokens);
    }
    EXPECT_LE(steps[1], steps[0]) << draft;
    EXPECT_GT(steps[1], 1u) << draft << ": 4 ms are no time for all of it";
    EXPECT_EQ(steps[2], 1u) << draft << ": there is time for all of it";
  }
}

}  // namespace
