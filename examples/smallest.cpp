// The smallest program in C++: continues a text. usage: smallest_cpp MODEL.gguf TEXT
#include <cstdio>
#include <skipstone/skipstone.hpp>
#include <stdexcept>

int main(int count, char** arguments) {
  if (count != 3) return std::fprintf(stderr, "usage: smallest_cpp MODEL.gguf TEXT\n"), 2;
  try {
    skipstone_engine_params params = skipstone::engine_params();
    params.model_path = arguments[1];
    const skipstone::Engine engine(params);
    skipstone_session_params drafting = skipstone::session_params();
    drafting.draft = "auto";
    skipstone::Session session(engine, drafting);
    session.generate(engine.tokenize(arguments[2]), 64, [](const skipstone_chunk& chunk) {
      std::fwrite(chunk.text, 1, chunk.bytes, stdout);
      return std::fflush(stdout) == 0;  // false stops the generation
    });
    std::puts("");
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw std::runtime_error("the text could not be written");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
