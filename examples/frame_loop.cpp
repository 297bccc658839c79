// Text between frames: a program that draws 60 frames a second and gives 4 ms of each to the model. usage: frame_loop MODEL.gguf TEXT
#include <chrono>
#include <cstdio>
#include <skipstone/skipstone.hpp>
#include <string>
#include <thread>

namespace {

constexpr std::uint64_t budget = 4000;  // microseconds of a frame
constexpr auto frame = std::chrono::microseconds(16667);

/// What the program draws: here a line with what has been said so far.
void draw(const std::string& text, unsigned number) {
  if (number % 60 == 0) std::fprintf(stderr, "frame %u: %zu bytes of text\n", number, text.size());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "usage: frame_loop MODEL.gguf TEXT\n"), 2;
  try {
    skipstone_engine_params params = skipstone::engine_params();
    params.model_path = arguments[1];
    params.low_priority = 1;  // the renderer's work goes first, where the driver knows priorities
    const skipstone::Engine engine(params);
    skipstone_session_params drafting = skipstone::session_params();
    drafting.draft = "auto";
    skipstone::Session session(engine, drafting);

    std::string text;
    session.begin(engine.tokenize(arguments[2]), 64, [&](const skipstone_chunk& chunk) {
      text.append(chunk.text, chunk.bytes);
      return true;
    });
    auto next = std::chrono::steady_clock::now();
    unsigned number = 0;
    for (bool done = false; !done; ++number) {
      // With SKIPSTONE_STEP_POLL a step waits for nothing, and the device works while the program draws.
      done = session.step(budget, SKIPSTONE_STEP_WAIT);
      draw(text, number);
      std::this_thread::sleep_until(next += frame);
    }
    std::fprintf(stderr, "%u frames\n", number);
    std::puts(text.c_str());
  } catch (const skipstone::error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
